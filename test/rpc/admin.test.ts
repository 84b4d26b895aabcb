import { afterEach, expect, test } from "vitest";
import { type AdminServer, createAdminServer } from "../../src/operations/admin/adminServer.ts";

let server: AdminServer | undefined;
afterEach(() => server?.stop());

const start = async (isReady = () => true, render = async () => "metrics\n"): Promise<string> => {
  server = createAdminServer({ host: "127.0.0.1", port: 0, metrics: { contentType: "text/plain; version=0.0.4", render }, isReady });
  return server.start();
};

test("metrics are served in Prometheus' format", async () => {
  const response = await fetch(`${await start()}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4");
  expect(await response.text()).toBe("metrics\n");
});

test("liveness is always 200, readiness follows start and drain", async () => {
  let ready = false;
  const url = await start(() => ready);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  ready = true;
  expect((await fetch(`${url}/readyz?verbose`)).status).toBe(200);
});

test("liveness is 503 where the process can only speak for others, and there are none", async () => {
  let isLive = false;
  const metrics = { contentType: "", render: async () => "" };
  server = createAdminServer({ host: "127.0.0.1", port: 0, metrics, isLive: () => isLive, isReady: () => true });
  const url = await server.start();
  expect((await fetch(`${url}/livez`)).status).toBe(503);
  isLive = true;
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});

test.each(["/", "/metrics/", "/constructor", "/v2/liveness"])("%s is not found", async (path) => {
  expect((await fetch((await start()) + path)).status).toBe(404);
});

test("other methods are refused", async () => {
  const response = await fetch(`${await start()}/livez`, { method: "POST", body: "x" });
  expect(response.status).toBe(405);
  expect(response.headers.get("allow")).toBe("GET, HEAD");
});

test("a failed collection is a 500, not a crash", async () => {
  const url = await start(undefined, () => Promise.reject(new Error("no")));
  expect((await fetch(`${url}/metrics`)).status).toBe(500);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});

test("a taken port rejects the start", async () => {
  const port = Number(new URL(await start()).port);
  const second = createAdminServer({ host: "127.0.0.1", port, metrics: { contentType: "", render: async () => "" }, isReady: () => true });
  await expect(second.start()).rejects.toThrow(/EADDRINUSE/);
});
