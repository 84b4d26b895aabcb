// @same-on-every-engine
import { expect, test } from "vitest";
import { serveHere } from "../../../bench/harness/commandLine.ts";
import { startService } from "../../../bench/harness/latchkeyProcess.ts";
import { failureOf, openBrowser } from "../../support/browser.ts";
import { request } from "../../support/envelope.ts";
import { freshDirectory } from "../../support/storePlaces.ts";

test("[console §2.1, §2.7] a session and the failures of an address outlive a killed process", async () => {
  const dataDir = await freshDirectory();
  const first = await startService({ dataDir });
  const rootKey = await first.rootKey();
  const browser = openBrowser(first.url);
  expect((await browser.signIn(rootKey)).status).toBe(200);
  const failing = openBrowser(first.url);
  for (let i = 0; i < 10; i++) await failing.call("SignIn", { rootKey: "lkr_wrong" }, {}, { localAddress: "127.0.0.9" });
  first.kill("SIGKILL");
  await first.exited;

  await using second = await serveHere(dataDir);
  const again = openBrowser(second.url);
  again.cookie = browser.cookie?.replace(/^latchkey-\d+/, `latchkey-${new URL(second.url).port}`);
  expect((await again.call("ApisService.ListApis")).status).toBe(200);
  const answer = await again.call("SignIn", { rootKey }, {}, { localAddress: "127.0.0.9" });
  expect([answer.status, failureOf(answer).type]).toEqual([429, "user/too_many_requests/sign_ins_limited"]);
  // The killed process had acknowledged these: none is lost.
  await expect
    .poll(
      async () =>
        (
          (await request(second.url, "audit.getLogs", { rootKey, body: { event: ["console.sign_in", "console.sign_in_failed"] } })).body
            .data as unknown as { event: string }[]
        ).map(({ event }) => event),
      { timeout: 15_000 },
    )
    .toEqual(["console.sign_in", "console.sign_in_failed"]);
});

test("[console §1] the start prints where the console is, PUBLIC_URL where that is set, and nothing without one", async () => {
  for (const [env, words] of [
    [{}, (url: string) => `The console is on ${url}/ui\n`],
    [{ PUBLIC_URL: "https://keys.example.com" }, () => "The console is on https://keys.example.com/ui\n"],
    [{ CONSOLE: "off" }, () => undefined],
  ] as const) {
    await using service = await serveHere(await freshDirectory(), { env });
    const wanted = words(service.url);
    if (wanted === undefined) expect(service.output.stdout).not.toContain("console");
    else expect(service.output.stdout).toContain(wanted);
  }
});

test("[console §2.3] the test clock ends sessions, too", async () => {
  await using service = await serveHere(await freshDirectory(), { args: ["--test-clock"] });
  const rootKey = await service.rootKey();
  const browser = openBrowser(service.url);
  const turn = (time: number) => request(service.url, "testing.setTime", { rootKey, body: { time } });
  const start = Date.now() + 86_400_000;
  expect((await turn(start)).status).toBe(200);
  expect((await browser.signIn(rootKey)).status).toBe(200);
  await turn(start + 29 * 60_000);
  expect((await browser.call("TestingService.SetTime", { time: String(start + 50 * 60_000) })).status).toBe(200);
  expect((await browser.call("ApisService.ListApis")).status).toBe(200);
  await turn(start + 81 * 60_000);
  expect((await browser.call("ApisService.ListApis")).status).toBe(401);
});
