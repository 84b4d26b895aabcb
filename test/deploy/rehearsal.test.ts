// @same-on-every-engine
import { expect, test } from "vitest";
import { checkForwarding, compareBooks } from "../../bench/rehearsal/books.ts";
import { siteFor } from "../../bench/rehearsal/startNginx.ts";
import { shortenedRules } from "../../bench/rehearsal/startPrometheus.ts";
import type { CallRecord } from "../../bench/rehearsal/steadyLoad.ts";
import { brokenPromises } from "../../bench/rehearsal/steps.ts";
import { CREDITS } from "../../bench/rehearsal/work.ts";
import { dataOf, startApi } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";

const record = (call: Partial<CallRecord>): CallRecord => ({
  id: "one",
  client: "JSON",
  kind: "verify",
  from: 1,
  to: 2,
  failure: undefined,
  node: undefined,
  again: 0,
  ...call,
});

test("the rehearsal runs the nginx file that is deployed, with other addresses only", () => {
  const site = siteFor(8443, ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"], "/tmp/x");
  expect(site).not.toMatch(/latchkey-\d|\/etc\/nginx\/tls/);
  expect(site.match(/server 127\.0\.0\.1:[123] /g)).toHaveLength(6);
  expect(site).toContain("listen 127.0.0.1:8443 ssl http2;");
});

test("a minute of the rehearsed alerts lasts six seconds, in every rule", () => {
  const rules = shortenedRules();
  expect(rules).not.toMatch(/for: \d+m|\[\d+m\]/);
  expect(rules).toContain("for: 12s");
  expect(rules).toContain("[30s]");
});

test("a failed call breaks a promise unless its step may cost it", () => {
  const step = { name: "Roll", from: 0, to: 10, problems: ["it ended with 1"], mayFail: ({ node }: CallRecord) => node === "killed" };
  const calls = [record({}), record({ failure: "HTTP 502", node: "killed" }), record({ id: "two", failure: "HTTP 502", node: "other" })];
  expect(brokenPromises([step], calls)).toEqual(["Roll: it ended with 1", "Roll: the call two to other failed: HTTP 502"]);
});

test("a call that the proxy sent to two nodes is found, one that was refused by the first is none", () => {
  const nodes = ["127.0.0.1:1", "127.0.0.1:2"];
  expect(checkForwarding([{ id: "a", nodes, sent: [0, 300] }]).problems).toEqual([]);
  expect(checkForwarding([{ id: "b", nodes, sent: [300, 300] }]).problems).toHaveLength(1);
});

test.each(engines)("calls that were executed twice, or not at all, are found in the store on $name", async (engine) => {
  const api = await startApi(engine);
  try {
    const call = async (procedure: string, body: object) =>
      dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body })) as Record<string, string>;
    const { apiId = "" } = await call("apis.createApi", { name: "rehearsal" });
    const { key = "", keyId = "" } = await call("keys.createKey", { apiId, credits: { remaining: CREDITS } });
    const subjects = { apiId, key: "", charged: [{ key, keyId }] };
    await call("keys.verifyKey", { key });
    await call("keys.createKey", { apiId, name: "made" });
    const problemsOf = async (calls: readonly CallRecord[]) => (await compareBooks(api.store, subjects, calls)).problems;
    const charge = record({ kind: "charge" });
    expect(await problemsOf([charge, record({ kind: "createKey", id: "made" })])).toEqual([]);
    expect(await problemsOf([{ ...charge, failure: "HTTP 502" }, record({ kind: "createKey", id: "lost", failure: "HTTP 502" })])).toEqual(
      [],
    );
    expect(await problemsOf([])).toHaveLength(1);
    expect(await problemsOf([charge, charge])).toHaveLength(1);
    expect(await problemsOf([charge, record({ kind: "createKey", id: "lost" })])).toHaveLength(1);
    await call("keys.createKey", { apiId, name: "made" });
    expect(await problemsOf([charge, record({ kind: "createKey", id: "made" })])).toHaveLength(1);
  } finally {
    await api.close();
    await engine.close();
  }
});
