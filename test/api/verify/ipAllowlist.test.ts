// @same-on-every-engine
import { request as httpRequest } from "node:http";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { KeysService, VerificationCode } from "../../../gen/latchkey/v2/keys_pb.ts";
import { expectError } from "../../support/api.ts";
import { changeApiIn } from "../../support/changedApis.ts";
import { request } from "../../support/envelope.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";

/** Sets the list before a key of the API is verified, so that no node has the API in its cache. */
const allowOnly = async (run: Run, apiId: string, ...entries: string[]): Promise<void> => {
  expect(await changeApiIn(run.api.store, apiId, { ipAllowlist: entries.length === 0 ? null : entries })).toBe(true);
};

/** A key of an API that only these addresses may verify. */
const keyFor = async (
  run: Run,
  entries: readonly string[],
  fields: object = {},
): Promise<{ key: string; keyId: string; apiId: string }> => {
  const apiId = await run.createApi();
  await allowOnly(run, apiId, ...entries);
  return run.createKey({ apiId, ...fields });
};

everywhere((run) => {
  describe("callers on 127.0.0.1", () => {
    test.each([
      ["the address", ["127.0.0.1/32"], "VALID"],
      ["a network around it", ["127.0.0.0/8"], "VALID"],
      ["a second entry", ["192.0.2.0/24", "2001:db8::/32", "127.0.0.1/32"], "VALID"],
      ["every IPv4 address", ["0.0.0.0/0"], "VALID"],
      ["another address", ["127.0.0.2/32"], "FORBIDDEN"],
      ["every IPv6 address", ["::/0"], "FORBIDDEN"],
    ])("[verify §9] a list with %s", async (_, entries, code) => {
      const { key } = await keyFor(run, entries);
      expect(await run.verify(key)).toMatchObject({ valid: code === "VALID", code });
    });

    test("[verify §9] an empty list is no restriction", async () => {
      const { key, apiId } = await keyFor(run, ["192.0.2.1/32"]);
      await allowOnly(run, apiId);
      expect(await run.verify(key)).toMatchObject({ valid: true });
    });

    test("[verify §3] FORBIDDEN shows the key, evaluates no limit and spends nothing", async () => {
      const limit = { name: "requests", limit: 5, duration: 3_600_000, autoApply: true };
      const fields = { name: "shown", meta: { plan: "pro" }, credits: { remaining: 7 }, ratelimits: [limit] };
      const { key, keyId, apiId } = await keyFor(run, ["192.0.2.1/32"], fields);
      for (let call = 0; call < 3; call++) {
        expect(await run.verify(key, { credits: { cost: 2 }, ratelimits: [{ name: "requests", cost: 2 }] })).toEqual({
          valid: false,
          code: "FORBIDDEN",
          keyId,
          keyspaceId: apiId,
          enabled: true,
          name: "shown",
          meta: { plan: "pro" },
          credits: 7,
        });
      }
      expect(await run.getKey(keyId)).toMatchObject({ credits: { remaining: 7 } });
      const counters = await run.api.store.collection("counters").find({}).toArray();
      expect(counters.filter(({ _id }) => _id.includes(keyId))).toEqual([]);
    });

    test("[verify §6] comes after DISABLED and EXPIRED, before permissions, unknown limits and credits", async () => {
      const apiId = await run.createApi();
      await allowOnly(run, apiId, "192.0.2.1/32");
      const disabled = await run.createKey({ apiId, enabled: false });
      const expired = await run.createKey({ apiId, expires: 1 });
      const exhausted = await run.createKey({ apiId, credits: { remaining: 0 } });
      const fields = { permissions: "not.granted", ratelimits: [{ name: "no such limit" }] };
      expect(await run.verify(disabled.key, fields)).toMatchObject({ code: "DISABLED" });
      expect(await run.verify(expired.key, fields)).toMatchObject({ code: "EXPIRED" });
      expect(await run.verify(exhausted.key, fields)).toMatchObject({ code: "FORBIDDEN" });
      expectError(await run.call("keys.verifyKey", { key: exhausted.key, permissions: "a AND" }), 400, "permissions_query_syntax_error");
    });

    test("[verify §9] only that API, and only verifyKey, are restricted", async () => {
      const { key, keyId } = await keyFor(run, ["192.0.2.1/32"]);
      expect(await run.data("keys.whoami", { key })).toMatchObject({ keyId });
      expect(await run.data("keys.updateKey", { keyId, name: "renamed" })).toEqual({});
      const other = await run.createKey();
      expect(await run.verify(other.key)).toMatchObject({ valid: true });
    });

    test("[verify §9] a header does not help whom no proxy is trusted", async () => {
      const { key } = await keyFor(run, ["192.0.2.1/32"]);
      for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "true-client-ip", "cf-connecting-ip"]) {
        const headers = { [name]: name === "forwarded" ? "for=192.0.2.1" : "192.0.2.1" };
        const { body } = await request(run.api.url, "keys.verifyKey", { rootKey: run.api.rootKey, headers, body: { key } });
        expect(body.data).toMatchObject({ code: "FORBIDDEN" });
      }
    });
  });
});

describe("behind a trusted proxy", () => {
  everywhere(
    (run) => {
      const forwarded = async (key: string, header: string): Promise<unknown> => {
        const headers = { "x-forwarded-for": header };
        const { body } = await request(run.api.url, "keys.verifyKey", { rootKey: run.api.rootKey, headers, body: { key } });
        return (body.data as { code: string }).code;
      };

      test.each([
        ["192.0.2.1", "VALID"],
        ["203.0.113.9, 192.0.2.1", "VALID"],
        ["192.0.2.1, 127.0.0.9", "VALID"],
        ["::ffff:192.0.2.1", "VALID"],
        ["192.0.2.1:4711", "VALID"],
        ["[2001:db8::7]:4711", "VALID"],
        ["2001:DB8:0:0::7", "VALID"],
        ["192.0.2.1, 203.0.113.9", "FORBIDDEN"],
        ["192.0.2.1, unknown", "FORBIDDEN"],
        ["127.0.0.1, 203.0.113.9", "FORBIDDEN"],
        ["unknown", "FORBIDDEN"],
        ["2001:db8:1::7", "FORBIDDEN"],
      ])("[verify §9] the right-most untrusted entry counts, not one that a caller put before it: %s", async (header, code) => {
        const { key } = await keyFor(run, ["192.0.2.1/32", "2001:db8::/48", "127.0.0.1/32"]);
        expect(await forwarded(key, header)).toBe(code);
      });

      test("[verify §9] a call of the proxy itself has the proxy's address", async () => {
        const { key } = await keyFor(run, ["127.0.0.1/32"]);
        expect(await run.verify(key)).toMatchObject({ code: "VALID" });
        expect(await forwarded(key, "")).toBe("VALID");
      });

      test("[protocol §11] several headers are one list, in their order", async () => {
        const { key } = await keyFor(run, ["192.0.2.1/32"]);
        const codeOf = (headers: string[]): Promise<string> =>
          new Promise((resolve, reject) => {
            const call = httpRequest(`${run.api.url}/v2/keys.verifyKey`, {
              method: "POST",
              headers: { authorization: `Bearer ${run.api.rootKey}`, "content-type": "application/json", "x-forwarded-for": headers },
            });
            call.on("error", reject).on("response", (response) => {
              let text = "";
              response.setEncoding("utf8").on("data", (chunk: string) => {
                text += chunk;
              });
              response.on("end", () => resolve((JSON.parse(text) as { data: { code: string } }).data.code));
            });
            call.end(JSON.stringify({ key }));
          });
        expect(await codeOf(["203.0.113.9", "192.0.2.1"])).toBe("VALID");
        expect(await codeOf(["192.0.2.1", "203.0.113.9"])).toBe("FORBIDDEN");
      });

      test("[verify §9] it counts over gRPC, gRPC-Web and Connect as well", async () => {
        const { key } = await keyFor(run, ["192.0.2.1/32"]);
        const baseUrl = run.api.url;
        for (const transport of [
          createGrpcTransport({ baseUrl }),
          createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
          createConnectTransport({ baseUrl, httpVersion: "2" }),
        ]) {
          const client = createClient(KeysService, transport);
          const codeOf = async (address: string): Promise<VerificationCode | undefined> => {
            const headers = { authorization: `Bearer ${run.api.rootKey}`, "x-forwarded-for": address };
            return (await client.verifyKey({ key }, { headers })).data?.code;
          };
          expect(await codeOf("192.0.2.1")).toBe(VerificationCode.VALID);
          expect(await codeOf("192.0.2.2")).toBe(VerificationCode.FORBIDDEN);
        }
      });
    },
    ["v2"],
    { env: { TRUSTED_PROXIES: "127.0.0.0/8" } },
  );
});

describe("on a socket that takes IPv4 and IPv6", () => {
  everywhere(
    (run) => {
      test("[verify §9] an IPv4 caller has its IPv4 address, an IPv6 caller its IPv6 address", async () => {
        const ipv4 = await keyFor(run, ["127.0.0.1/32"]);
        const ipv6 = await keyFor(run, ["::1/128"]);
        const { port } = new URL(run.api.url);
        const codeOf = async (host: string, key: string): Promise<unknown> => {
          const { body } = await request(`http://${host}:${port}`, "keys.verifyKey", { rootKey: run.api.rootKey, body: { key } });
          return (body.data as { code: string }).code;
        };
        expect(await codeOf("127.0.0.1", ipv4.key)).toBe("VALID");
        expect(await codeOf("127.0.0.1", ipv6.key)).toBe("FORBIDDEN");
        expect(await codeOf("[::1]", ipv6.key)).toBe("VALID");
        expect(await codeOf("[::1]", ipv4.key)).toBe("FORBIDDEN");
      });
    },
    ["v2"],
    { env: { HOST: "::", ADMIN_HOST: "127.0.0.1" } },
  );
});
