import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../../bench/harness/commandLine.ts";

const ROOT_KEY = "lkr_0123456789abcdefghijABCDEFGHIJ01abcdef";
const create = ["apis", "create-api", "--name", "payments"];

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "latchkey-connection-"));
  await writeFile(join(dataDir, "root-key"), `${ROOT_KEY}\n`);
});
afterAll(() => rm(dataDir, { recursive: true }));

/** A server that is no Latchkey; resolves to its URL. */
const listen = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const answering = (status: number, body: string, headers: Record<string, string> = {}): Promise<string> =>
  listen((_, response) => response.writeHead(status, { "content-type": "application/json", ...headers }).end(body));

const run = (url: string, env: Record<string, string> = { LATCHKEY_ROOT_KEY: ROOT_KEY }, args: readonly string[] = create) =>
  runCommand([...args, "--url", url], env);

test("an answer that the service could not confirm with its store says so on standard error", async () => {
  const url = await answering(200, JSON.stringify({ meta: { requestId: "req_1", degraded: ["ratelimit"] }, data: { apiId: "api_1" } }));
  expect(await run(url)).toEqual({
    code: 0,
    printed: ["apiId  api_1"],
    complained: ["Answered without the store (ratelimit): from what the node remembers."],
  });
});

describe("where the root key goes", () => {
  test.each([
    ["localhost:3000", "--url: not an http or https URL"],
    ["ftp://localhost", "--url: not an http or https URL"],
    ["", "--url: not an http or https URL"],
    ["http://root:hunter2@127.0.0.1:1", "--url: a URL must not hold credentials"],
    ["http://127.0.0.1:1/?key=hunter2", "--url: want the address of the service alone"],
    ["http://latchkey.example:3000", "--url: over http the root key would cross the network"],
    ["http://127.example.com", "--url: over http"],
    ["http://latchkey.localhost", "--url: over http"],
    ["http://localhost.", "--url: over http"],
    ["http://10.0.0.1", "--url: over http"],
  ])("%j is refused with 2 before anything is sent", async (url, message) => {
    const { code, printed, complained } = await run(url);
    expect({ code, printed }).toEqual({ code: 2, printed: [] });
    expect(complained.join("\n")).toContain(message);
    expect(complained.join("\n")).not.toContain("hunter2");
  });

  test("LATCHKEY_URL is judged alike, and commands that work on the store otherwise go by it", async () => {
    for (const args of [create, ["root-key", "list"], ["api", "protect", "api_1"], ["audit", "verify"], ["migration", "list"]]) {
      const { code, complained } = await runCommand(args, { LATCHKEY_URL: "http://latchkey.example", LATCHKEY_ROOT_KEY: ROOT_KEY });
      expect([args, code]).toEqual([args, 2]);
      expect(complained.join("\n")).toContain("LATCHKEY_URL: over http the root key would cross the network");
    }
  });

  test("the root key of this machine's store goes to no other machine", async () => {
    const { code, complained } = await run("https://latchkey.example", { DATA_DIR: dataDir });
    expect(code).toBe(2);
    expect(complained.join("\n")).toContain("no root key: set LATCHKEY_ROOT_KEY");
  });

  test("without LATCHKEY_ROOT_KEY a service on this machine gets the one of DATA_DIR; --root-key-file comes before both", async () => {
    const seen: (string | undefined)[] = [];
    const url = await listen((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(200, { "content-type": "application/json" }).end('{"data":{"apiId":"api_1"}}');
    });
    const file = join(dataDir, "other-key");
    await writeFile(file, "lkr_other\n");
    expect(await run(url, { DATA_DIR: dataDir })).toMatchObject({ code: 0, printed: ["apiId  api_1"] });
    await run(url, { DATA_DIR: dataDir, LATCHKEY_ROOT_KEY: "lkr_env" });
    await run(url, { DATA_DIR: dataDir, LATCHKEY_ROOT_KEY: "lkr_env" }, [...create, "--root-key-file", file]);
    expect(seen).toEqual([`Bearer ${ROOT_KEY}`, "Bearer lkr_env", "Bearer lkr_other"]);
  });

  test.each(["", "  ", "lkr_a lkr_b", "lkr_\u00e9"])("LATCHKEY_ROOT_KEY %j is refused, and not repeated", async (text) => {
    const { code, complained } = await run("http://127.0.0.1:1", { LATCHKEY_ROOT_KEY: text });
    expect(code).toBe(2);
    expect(complained[0]).toBe("latchkey: LATCHKEY_ROOT_KEY: holds no root key, which is one word such as lkr_…");
  });

  test("a file that cannot be read is named", async () => {
    const { code, complained } = await run("http://127.0.0.1:1", {}, [...create, "--root-key-file", "/nonexistent/key"]);
    expect(code).toBe(2);
    expect(complained[0]).toContain("no root key can be read from /nonexistent/key");
  });
});

test("--plain-http lets it go, and the addresses of this machine need no leave", async () => {
  for (const url of ["http://127.0.0.1:1", "http://127.1:1", "http://localhost:1", "http://[::1]:1", "http://0.0.0.0:1"]) {
    expect(await run(url)).toMatchObject({ code: 7 });
  }
  expect(await run("http://latchkey.invalid:1", undefined, [...create, "--plain-http"])).toMatchObject({ code: 7 });
});

describe("a service that does not exist, or is down", () => {
  test("no service listens: 7", async () => {
    const { code, complained } = await run("http://127.0.0.1:1");
    expect(code).toBe(7);
    expect(complained).toEqual([expect.stringContaining("latchkey: no service answers at http://127.0.0.1:1")]);
  });

  test("no answer within the time: 7, and a change may have been made", async () => {
    const silent = createTcpServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    onTestFinished(() => void silent.close());
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { code, complained } = await run(url, undefined, [...create, "--timeout", "0.2"]);
    expect(code).toBe(7);
    expect(complained[0]).toContain(`no answer from ${url} within 0.2 s; a change may have been made`);
    for (const timeout of ["0", "-1", "soon", "3601"]) {
      expect((await run(url, undefined, [...create, `--timeout=${timeout}`])).complained[0]).toContain("--timeout: ");
    }
  });

  test("a redirect is not followed", async () => {
    let followed = 0;
    const target = await listen((_, response) => {
      followed++;
      response.end("{}");
    });
    const { code, complained } = await run(await answering(307, "", { location: target }));
    expect({ code, followed }).toEqual({ code: 1, followed: 0 });
    expect(complained[0]).toContain(`redirects to ${target}, where the root key is not sent`);
  });

  test.each([
    [200, "<html>welcome</html>", 1],
    [200, "[]", 1],
    [200, "null", 1],
    // A proxy's: no key or API that does not exist.
    [404, "Not found", 1],
    [404, '{"status":404,"error":"Not Found"}', 1],
    [400, '{"error":{"errors":{}}}', 1],
    [400, '{"error":{"detail":"no","errors":[null]}}', 1],
    [502, "<html>bad gateway</html>", 7],
    [418, "{}", 1],
  ])("%i with %j is no Latchkey: %i", async (status, body, wanted) => {
    const { code, printed, complained } = await run(await answering(status, body));
    expect({ code, printed }).toEqual({ code: wanted, printed: [] });
    expect(complained[0]).toContain(`answered ${status}, but not as Latchkey does: is it the address of the service?`);
  });

  test.each([
    [400, 2],
    [401, 3],
    [403, 3],
    [404, 4],
    [409, 5],
    [410, 4],
    [412, 5],
    [413, 2],
    [422, 2],
    [429, 6],
    [500, 1],
    [503, 7],
  ])("an error with %i ends with %i and its sentence", async (status, wanted) => {
    const { code, complained } = await run(await answering(status, '{"meta":{},"error":{"detail":"That was that."}}'));
    expect(code).toBe(wanted);
    expect(complained[0]).toContain("latchkey: That was that.");
  });

  test("its answers are shown without secrets and without control characters", async () => {
    const detail = `\u001b[2J${ROOT_KEY} and pay_secret\u009b1m`;
    const url = await answering(403, JSON.stringify({ error: { detail } }));
    const { stdout, stderr } = await runWithInput(["keys", "verify-key", "--key", "-", "--url", url], "pay_secret\n");
    expect(stdout).toBe("");
    expect(stderr).toBe("latchkey:  [2J*** and *** 1m\n");
    const held = await answering(200, JSON.stringify({ data: { keyId: "key_1", meta: { x: "a\u009b31m\u2028" } } }));
    const [shown] = (await run(held)).printed.filter((line) => line.includes("meta"));
    expect(shown).toContain("\\u009b31m\\u2028");
    const named = await answering(200, JSON.stringify({ data: [{ id: "api_1", name: "\u001b[31mred\r\nsecond" }], pagination: {} }));
    expect((await run(named, undefined, ["apis", "list-apis"])).printed).toEqual(["id     name", "api_1   [31mred second"]);
  });

  test("a limit says when to come again, a failure its request id, a refused root key where it came from", async () => {
    const limited = await answering(429, '{"error":{"detail":"Too many."}}', { "retry-after": "7" });
    expect((await run(limited)).complained).toEqual(["latchkey: Too many. Try again in 7 s."]);
    const failed = await answering(500, '{"meta":{"requestId":"req_1"},"error":{"detail":"Odd."}}');
    expect((await run(failed)).complained).toEqual(["latchkey: Odd. (req_1)"]);
    const refused = await answering(401, '{"error":{"detail":"The root key does not exist."}}');
    expect((await run(refused)).complained).toEqual(["latchkey: The root key does not exist. (the root key is that of LATCHKEY_ROOT_KEY)"]);
  });

  test("JSON for scripts steers no terminal either, and stays what it is", async () => {
    const name = "\u001b[31m\u009b31m\u007f\u2028é😀";
    const url = await answering(200, JSON.stringify({ data: { name } }));
    const { printed } = await run(url, undefined, [...create, "--json"]);
    expect(printed).toEqual(['{"name":"\\u001b[31m\\u009b31m\\u007f\\u2028é😀"}']);
    expect(JSON.parse(printed[0] ?? "")).toEqual({ name });
  });

  test("audit verify reports every damaged part of the log, and ends with 1", async () => {
    const asked: unknown[] = [];
    const url = await listen(async (request, response) => {
      const { fromSequence = 1 } = JSON.parse((await request.toArray()).join("")) as { fromSequence?: number };
      asked.push(fromSequence);
      const broken = fromSequence === 1 ? { broken: { sequence: 3, expected: "aa", found: "bb" } } : {};
      const data = {
        checked: 5,
        fromSequence,
        toSequence: fromSequence + 4,
        intact: fromSequence !== 1,
        head: { sequence: 10, hash: "cc" },
        ...broken,
        erased: { entries: 3, unhashed: fromSequence === 1 ? 2 : 0 },
      };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data }));
    });
    expect(await run(url, undefined, ["audit", "verify"])).toEqual({
      code: 1,
      printed: ["10 entries, head cc", expect.stringMatching(/^6 entries without texts.*of 2, /), "The log is NOT whole: 1 faults."],
      complained: ["entry 3 has bb in the place of aa"],
    });
    expect(asked).toEqual([1, 6]);
  });

  test("cursors that lead nowhere end", async () => {
    const url = await answering(200, '{"data":[{"id":"api_1"}],"pagination":{"hasMore":true,"cursor":"same"}}');
    const { code, complained } = await run(url, undefined, ["apis", "list-apis", "--all"]);
    expect(code).toBe(1);
    expect(complained.at(-1)).toBe("latchkey: apis.listApis answered the same cursor twice");
  });
});

const runWithInput = async (args: readonly string[], input: string) => {
  const { code, printed, complained } = await runCommand(args, { LATCHKEY_ROOT_KEY: ROOT_KEY }, input);
  return { code, stdout: printed.join("\n"), stderr: complained.map((line) => `${line}\n`).join("") };
};
