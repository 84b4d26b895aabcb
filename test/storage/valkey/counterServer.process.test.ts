import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { type CounterServerOptions, type ServerProcess, startCounterServer } from "../../../bench/harness/counterServers.ts";
import { openProxy } from "../../../bench/harness/proxy.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import type { ChargeRequest } from "../../../src/platform/storage/counters/sharedCounter.ts";
import { guardCounters } from "../../../src/platform/storage/decorators/guardCounters.ts";
import type { CounterServer } from "../../../src/platform/storage/port/counterServer.ts";
import { StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import { createCertificate } from "../../support/certificate.ts";
import { connectCounterServer, describeOnCounterServer } from "../../support/counterServers.ts";
import { eventually } from "../../support/eventually.ts";

const DURATION = 3_600_000;
const HUGE = 1_000_000_000;
const request = (changes: Partial<ChargeRequest> = {}): ChargeRequest => ({
  ...{ duration: DURATION, limit: HUGE, cost: 1, need: 1, chunk: 0, now: 0, held: 0, heldSeq: -1, known: undefined },
  ...changes,
});
const windowNow = (): number => Math.floor(Date.now() / DURATION);

describeOnCounterServer("the server of COUNTERS_URL", () => {
  const opened: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });
  const start = async (options: CounterServerOptions = {}): Promise<ServerProcess> => {
    const server = await startCounterServer(options);
    opened.push(server);
    return server;
  };
  const connect = async (url: string, options: Parameters<typeof connectCounterServer>[1] = {}): Promise<CounterServer> => {
    const server = await connectCounterServer(url, options);
    opened.push(server);
    return server;
  };
  const guarded = (server: CounterServer) => {
    const { counters, state, close } = guardCounters(server.counters, server, { clock: systemClock });
    opened.push({ [Symbol.asyncDispose]: async () => close() });
    return { counters, state };
  };
  const settled = async (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);
  const expectRefused = (error: unknown, outcomeUnknown: boolean): void => {
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect((error as StoreUnavailableError).outcomeUnknown).toBe(outcomeUnknown);
  };
  /** Charges one until that works; how many charges may have counted, and how many did for sure. */
  const chargeUntilItWorks = async ({ counters }: Pick<CounterServer, "counters">, key: string) => {
    let least = 0;
    let most = 0;
    await eventually(async () => {
      most++;
      try {
        await counters.charge(key, request());
        least++;
      } catch (error) {
        if (!(error as StoreUnavailableError).outcomeUnknown) most--;
        throw error;
      }
    });
    return { least, most };
  };

  test("windows are told by the server's clock, whatever this machine's or the request says", async () => {
    const { url } = await start();
    const { counters, clock } = await connect(url, { clock: { ...systemClock, now: () => 5 } });
    const before = windowNow();
    const { counter } = await counters.charge("a", request({ now: 12 }));
    expect([before, windowNow()]).toContain(counter.seq);
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(5_000);
  });

  test("a counter has a name that says what it counts, and expires when it counts no more", async () => {
    const { url, command } = await start();
    const { counters } = await connect(url);
    const key = "namespace:rlns_1:3600000:user_1";
    const { counter } = await counters.charge(key, request({ cost: 3 }));
    await counters.charge(key, request({ cost: 4 }));
    await counters.refund(key, counter.seq, 2);
    const name = `latchkey:{${key}}`;
    expect(await command("GET", name)).toContain(`${counter.seq}:5:0`);
    const expiry = Number((await command("PEXPIRETIME", name)).slice(1));
    expect(Math.abs(expiry - (counter.seq + 3) * DURATION)).toBeLessThan(60_000);
  });

  test("a counter takes fewer than 200 bytes", async () => {
    const { url, command } = await start();
    const { counters } = await connect(url);
    const key = "namespace:rlns_0123456789abcdef:60000:user_000001";
    await counters.charge(key, request());
    expect(Number((await command("MEMORY", "USAGE", `latchkey:{${key}}`)).slice(1))).toBeLessThan(200);
  });

  test("keys may hold any text", async () => {
    const { url } = await start();
    const { counters } = await connect(url);
    const keys = ["namespace:rlns_1:1000:a}b{c", "namespace:rlns_1:1000:*?[x]\\", "namespace:rlns_1:1000:\u0000\r\n 😀", "}"];
    for (const [i, key] of keys.entries()) await counters.charge(key, request({ cost: i + 1 }));
    for (const [i, key] of keys.entries()) expect((await counters.read(key))?.current).toBe(i + 1);
    const found = await counters.scan?.("namespace:rlns_1:1000:*?[x]\\");
    expect(found?.keys).toEqual([keys[1]]);
  });

  test("a scan finds every key with a prefix, in bounded steps", async () => {
    const { url } = await start();
    const { counters } = await connect(url);
    const keys = Array.from({ length: 5_000 }, (_, i) => `namespace:rlns_1:1000:user_${i}`);
    await Promise.all([...keys, "namespace:rlns_2:1000:other"].map((key) => counters.charge(key, request())));
    const found = new Set<string>();
    let steps = 0;
    let cursor: string | undefined;
    do {
      const step = await counters.scan?.("namespace:rlns_1:", cursor);
      for (const key of step?.keys ?? []) found.add(key);
      cursor = step?.next;
      steps++;
    } while (cursor !== undefined);
    expect([...found].sort()).toEqual(keys.toSorted());
    expect(steps).toBeGreaterThan(3);
  });

  test("scripts are sent again to a server that has forgotten them", async () => {
    const { url, command } = await start();
    const { counters } = await connect(url);
    await counters.charge("a", request());
    await command("SCRIPT", "FLUSH");
    const charges = await Promise.all(Array.from({ length: 50 }, () => counters.charge("a", request())));
    expect(Math.max(...charges.map(({ counter }) => counter.current))).toBe(51);
    await command("SCRIPT", "FLUSH");
    await counters.refund("a", charges[0]?.counter.seq ?? 0, 1);
    expect((await counters.read("a"))?.current).toBe(50);
  });

  test("a server that is killed and started again counts again by itself; it keeps counts if it writes them down", async () => {
    for (const [settings, kept] of [
      [[], 0],
      [["--appendonly", "yes", "--appendfsync", "always"], 1],
    ] as const) {
      const server = await start({ settings });
      const { counters, state } = guarded(await connect(server.url));
      await counters.charge("a", request({ cost: 7, need: 7 }));
      await server.end();
      await eventually(async () => {
        expectRefused(await settled(counters.charge("a", request())), false);
        expect(state()).toBe("away");
      });
      await server.restart();
      await chargeUntilItWorks({ counters }, "a");
      expect((await counters.read("a"))?.current).toBe(7 * kept + 1);
    }
  });

  test("what was in flight on a connection that is cut may have counted, and is never sent again", async () => {
    const server = await start();
    const proxy = await openProxy({ host: "127.0.0.1", port: server.port });
    opened.push({ [Symbol.asyncDispose]: proxy.close });
    const { counters } = await connect(`redis://127.0.0.1:${proxy.port}`);
    let least = 0;
    let most = 0;
    for (let round = 0; round < 5; round++) {
      const charges = Array.from({ length: 200 }, () => settled(counters.charge("a", request())));
      await sleep(round);
      proxy.cut();
      for (const result of await Promise.all(charges)) {
        if (!(result instanceof Error)) least++;
        if (!(result instanceof StoreUnavailableError) || result.outcomeUnknown) most++;
      }
      proxy.resume();
      const again = await chargeUntilItWorks({ counters }, "a");
      least += again.least;
      most += again.most;
    }
    const counted = (await counters.read("a"))?.current ?? 0;
    expect(counted).toBeGreaterThanOrEqual(least);
    expect(counted).toBeLessThanOrEqual(most);
  });

  test("a charge that a paused server does not answer in time may count; it does so once, when the server runs again", async () => {
    const server = await start();
    const { counters, state } = guarded(await connect(server.url));
    await counters.charge("a", request());
    server.kill("SIGSTOP");
    expectRefused(await settled(counters.charge("a", request())), true);
    expect(state()).toBe("away");
    expectRefused(await settled(counters.charge("a", request())), false);
    server.kill("SIGCONT");
    const { least, most } = await chargeUntilItWorks({ counters }, "a");
    const counted = (await counters.read("a"))?.current ?? 0;
    expect(counted).toBeGreaterThanOrEqual(1 + least);
    expect(counted).toBeLessThanOrEqual(2 + most);
  });

  test("a connection on which nothing moves any more is replaced", async () => {
    const server = await start();
    const proxy = await openProxy({ host: "127.0.0.1", port: server.port });
    opened.push({ [Symbol.asyncDispose]: proxy.close });
    const { counters } = guarded(await connect(`redis://127.0.0.1:${proxy.port}`));
    await counters.charge("a", request());
    const connections = async () => Number(/total_connections_received:(\d+)/.exec(await server.command("INFO", "stats"))?.[1]);
    const before = await connections();
    proxy.hang();
    expectRefused(await settled(counters.charge("a", request())), true);
    await eventually(async () => expect(await connections()).toBeGreaterThan(before + 2));
    proxy.resume();
    await chargeUntilItWorks({ counters }, "a");
  });

  test("a replica refuses charges, which nobody has counted then", async () => {
    const primary = await start();
    const replica = await start({ settings: ["--replicaof", "127.0.0.1", String(primary.port)] });
    const server = await connect(replica.url);
    expectRefused(await settled(server.counters.charge("a", request())), false);
    await expect(server.ping()).rejects.toThrow(StoreUnavailableError);
  });

  test("a server whose memory is full refuses charges until there is room again", async () => {
    const { url, command } = await start({ settings: ["--maxmemory-policy", "noeviction"] });
    const { counters, state } = guarded(await connect(url));
    await counters.charge("a", request());
    await command("CONFIG", "SET", "maxmemory", "100kb");
    expectRefused(await settled(counters.charge("a", request())), false);
    expectRefused(await settled(counters.charge("b", request())), false);
    expect(state()).toBe("away");
    await command("CONFIG", "SET", "maxmemory", "0");
    await chargeUntilItWorks({ counters }, "a");
    expect((await counters.read("a"))?.current).toBe(2);
  });

  test("a server that evicts counters is warned of", async () => {
    const { url } = await start({ settings: ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"] });
    const lines: string[] = [];
    const log = { info: () => undefined, warn: (_: object, message: string) => void lines.push(message) };
    const server = await connect(url, { log });
    expect(server.facts()?.warning).toContain("allkeys-lru");
    expect(lines).toEqual([expect.stringContaining("its maxmemory-policy is allkeys-lru: when its memory is full it removes counters")]);
  });

  test("a wrong password and a missing one are told apart", async () => {
    const closed = await start({ settings: ["--requirepass", "hunter2"] });
    const at = (auth: string): string => `redis://${auth}127.0.0.1:${closed.port}`;
    await expect(connect(at(":wrong@"))).rejects.toThrow("does not know the user or the password of COUNTERS_URL");
    await expect(connect(at(""))).rejects.toThrow("it needs a password");
    expect((await (await connect(at(":hunter2@"))).counters.charge("a", request())).isGranted).toBe(true);
  });

  test("a user needs no more rights than the guide says", async () => {
    const { command, port } = await start();
    const rights = [
      "on",
      ">p%@ss",
      "~latchkey:*",
      "resetchannels",
      "-@all",
      "+evalsha",
      "+eval",
      "+get",
      "+set",
      "+time",
      "+info",
      "+scan",
      "+role",
      "+select",
    ];
    expect(await command("ACL", "SETUSER", "limits", ...rights)).toBe("+OK\r\n");
    const server = await connect(`redis://limits:p%25%40ss@127.0.0.1:${port}/1`);
    const { counter } = await server.counters.charge("a", request());
    await server.counters.refund("a", counter.seq, 1);
    await server.ping();
    expect((await server.counters.scan?.(""))?.keys).toEqual(["a"]);
  });

  test("another database of the server holds other counters", async () => {
    const { url } = await start();
    const [first, second] = [await connect(`${url}/1`), await connect(`${url}/2`)];
    await first.counters.charge("a", request());
    expect(await second.counters.read("a")).toBeNull();
  });

  test("TLS: the server shows a certificate that is trusted, and may ask for one", async () => {
    const directory = await mkdtemp(join(tmpdir(), "latchkey-counters-tls-"));
    opened.push({ [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) });
    const { cert, key } = createCertificate(directory);
    const files = ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert];
    const { port } = await start({ isTls: true, settings: [...files, "--tls-auth-clients", "yes"] });
    const url = `rediss://127.0.0.1:${port}`;
    const tls = { caFile: cert, certFile: cert, keyFile: key };
    const server = await connect(url, { tls });
    expect((await server.counters.charge("a", request())).isGranted).toBe(true);
    await expect(connect(url, { tls: { ...tls, caFile: undefined } })).rejects.toThrow("its certificate cannot be used");
    await expect(connect(url, { tls: { ...tls, certFile: undefined, keyFile: undefined } })).rejects.toThrow(
      "it refuses the TLS connection",
    );
    await expect(connect(url, { tls: { ...tls, caFile: `${cert}.gone` } })).rejects.toThrow(`${cert}.gone cannot be read`);
    const plain = await start();
    await expect(connect(`rediss://127.0.0.1:${plain.port}`, { tls })).rejects.toThrow("does it speak TLS on this port?");
    await expect(connect(`redis://127.0.0.1:${port}`)).rejects.toThrow("does it expect TLS, and so rediss:// in COUNTERS_URL?");
  });

  test("a server that is too old is refused", async () => {
    // Answers as Redis 6.2 does.
    const old = createTcpServer((socket) => {
      socket.setEncoding("utf8").on("data", (text: string) => {
        for (const [, command] of text.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
          const info = "# Server\r\nredis_version:6.2.14\r\n";
          socket.write(command === "HELLO" ? "%0\r\n" : command === "INFO" ? `$${info.length}\r\n${info}\r\n` : "+OK\r\n");
        }
      });
    }).listen(0, "127.0.0.1");
    opened.push({ [Symbol.asyncDispose]: async () => void old.close() });
    await once(old, "listening");
    const url = `redis://127.0.0.1:${(old.address() as AddressInfo).port}`;
    await expect(connect(url)).rejects.toThrow("is Redis 6.2.14: rate limits need Valkey 7.2 or Redis 7.0, or a newer version");
  });

  test("a server that is something else is refused", async () => {
    const web = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
    opened.push({ [Symbol.asyncDispose]: async () => void web.close() });
    await once(web, "listening");
    await expect(connect(`redis://127.0.0.1:${(web.address() as AddressInfo).port}`)).rejects.toThrow("it is not a Valkey or Redis server");
  });

  test("a server out of reach is reported as such, and used when it is there", async () => {
    const server = await start();
    await server.end();
    const error = await settled(connect(server.url));
    expectRefused(error, false);
  });
});
