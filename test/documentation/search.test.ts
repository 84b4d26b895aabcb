import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDocumentation } from "../../src/documentation/openDocumentation.ts";
import { createFairRate } from "../../src/domain/fairness/fairRate.ts";
import { createDocumentationEdge } from "../../src/rpc/edges/docs/documentationEdge.ts";
import { send } from "../support/browser.ts";
import { createTestClock } from "../support/testClock.ts";
import { writeDocumentation } from "../support/writeDocumentation.ts";

const capacity = 10;
const interval = 1_000;
const clock = createTestClock();
const faults: unknown[] = [];
let directory: string;
let server: Server;
let url: string;

beforeAll(async () => {
  directory = await writeDocumentation();
  let opened = 0;
  const edge = createDocumentationEdge({
    open: async () => {
      opened += 1;
      if (opened === 1) throw new Error("no memory");
      return openDocumentation({ directory, version: "1.2.3" });
    },
    searches: createFairRate({ clock, capacity, interval }),
    clientAddress: ({ remoteIp }) => remoteIp,
    isProxy: () => false,
    observer: { fault: (_, error) => faults.push(error) },
  });
  server = createServer(edge).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/docs`;
});
afterAll(async () => {
  server.close();
  await rm(dirname(directory), { recursive: true });
});

const ask = (query: string) => send(`${url}?${new URLSearchParams({ q: query })}`);
const search = async (query: string) => {
  clock.advance(interval);
  const { status, text } = await ask(query);
  expect(status).toBe(200);
  return [...text.matchAll(/<li><a href="([^"]*)">([^<]*)<\/a><p>(.*?)<\/p>/g)].map(([, ...parts]) => parts);
};

test("[console §1] documentation that could not be read is read again by the next who asks", async () => {
  await expect(send(url)).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(faults).toMatchObject([{ message: "no memory" }]);
  const { text } = await send(url);
  expect(text).toContain("<footer>Latchkey 1.2.3</footer>");
});

test.each([
  ["createKey", "/docs/reference/keys.createKey"],
  ["create key", "/docs/reference/keys.createKey"],
  ["key_not_found", "/docs/errors/unkey/data/key_not_found"],
  ["key not found deleted", "/docs/errors/unkey/data/key_not_found#cause"],
  ["externalid customer", "/docs/reference/keys.createKey#fields"],
  ["verifed machin", "/docs/getting-started"],
  ["übersicht", "/docs/%C3%BCbersicht"],
])("[console §1] a search for %j finds %s first", async (query, address) => {
  expect((await search(query))[0]?.[0]).toBe(address);
});

test("[console §1] a result shows the words where they stand, and nothing that a page or a query could do", async () => {
  expect((await search("customer"))[0]?.[2]).toMatch(/the number of a <mark>customer<\/mark>/);
  // What a page holds of HTML, and where GitHub reads a mark for a note.
  expect((await search("alert heading"))[0]?.[2]).not.toContain("<script>");
  expect((await search("secret root"))[0]?.[2]).not.toContain("[!");
  clock.advance(interval);
  const { headers, text } = await ask('"><img src=x onerror=alert(1)> zzzqqq');
  expect(headers).toMatchObject({ "content-type": "text/html; charset=utf-8", "cache-control": "no-store" });
  expect(text).not.toContain("<img");
  expect(text).toContain("&lt;img src=x");
});

test("[console §1] of a long query the beginning counts, and nothing found is said", async () => {
  expect((await search(`createKey ${"x ".repeat(3_000)}`)).length).toBeGreaterThan(0);
  expect(await search("\u{1f600} \ud800 ...")).toEqual([]);
  clock.advance(interval);
  expect((await ask("zzzqqq")).text).toContain("No results.");
});

test("[console §1] an address that searches all the time is told to wait a second; pages are served all the same", async () => {
  clock.advance(interval);
  for (let asked = 0; asked < capacity; asked += 1) expect((await ask("key")).status).toBe(200);
  const refused = await ask("key");
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
  expect((await send(url)).status).toBe(200);
  clock.advance(interval);
  expect((await ask("key")).status).toBe(200);
});
