import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createHealthService } from "../../src/rpc/standard/health.ts";
import type * as router from "../../src/rpc/standard/standardRouter.ts";
import { createStandardServices } from "../../src/rpc/standard/standardServices.ts";

const PATH = "/grpc.health.v1.Health/Check";

let server: Server;
afterEach(() => server.close());

/** Health alone, whose router is what `load` gives. */
const serve = async (load: () => Promise<Pick<typeof router, "createStandardRouter">>) => {
  const health = createHealthService([]);
  health.setState("serving");
  const faults: unknown[] = [];
  const handlers = createStandardServices([], {
    health,
    publicStreams: { admit: () => true },
    reflection: false,
    onFault: (fault) => faults.push(fault),
    load,
  });
  const handled: Promise<void>[] = [];
  server = createServer((req, res) => {
    const handler = handlers.get(req.url ?? "");
    const refuse = (error: Error): void => void res.writeHead(503).end(error.message);
    if (handler) handled.push(handler(req, res, refuse));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const check = async (): Promise<readonly [status: number, body: string]> => {
    const answer = await fetch(`http://127.0.0.1:${port}${PATH}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    return [answer.status, await answer.text()];
  };
  return { port, check, handled, faults };
};

const real = () => import("../../src/rpc/standard/standardRouter.ts");

test("[grpc §1] calls that come while the router is loaded wait for it, and it is loaded once", async () => {
  const loading = Promise.withResolvers<typeof router>();
  let loads = 0;
  const { check, faults } = await serve(() => {
    loads++;
    return loading.promise;
  });
  const answers = Promise.all([check(), check(), check()]);
  loading.resolve(await real());
  for (const [status, body] of await answers) expect([status, JSON.parse(body)]).toEqual([200, { status: "SERVING" }]);
  expect([loads, faults]).toEqual([1, []]);
});

test.each([
  ["cannot be loaded", () => Promise.reject(new Error("EMFILE: too many open files"))],
  [
    "cannot be made",
    () =>
      Promise.resolve({
        createStandardRouter: () => {
          throw new Error("a descriptor is wrong");
        },
      }),
  ],
])("a router that %s is a 503 and a fault in the log, and the next call loads it anew", async (_how, broken) => {
  const loads = [broken, real];
  const { check, faults } = await serve(() => loads.shift()?.() ?? real());
  expect(await check()).toEqual([503, expect.stringContaining("Try again later.")]);
  expect(faults).toEqual([expect.any(Error)]);
  expect(await check()).toEqual([200, '{"status":"SERVING"}']);
});

test("a client that leaves while the router is loaded holds nothing up", async () => {
  const loading = Promise.withResolvers<typeof router>();
  const begun = Promise.withResolvers<void>();
  const { port, check, handled } = await serve(() => {
    begun.resolve();
    return loading.promise;
  });
  const leaving = request({ port, path: PATH, method: "POST", headers: { "content-type": "application/json" } }).end("{}");
  leaving.on("error", () => undefined);
  await begun.promise;
  const closed = once(server, "request").catch(() => undefined);
  leaving.destroy();
  const other = check();
  await closed;
  loading.resolve(await real());
  await handled[0];
  expect((await other)[0]).toBe(200);
});
