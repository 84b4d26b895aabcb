import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { freePort } from "./harness/freePort.ts";
import { type ServerProcess, startProgram } from "./processes.ts";

const run = promisify(execFile);

const MODULE = "github.com/envoyproxy/ratelimit/src/service_cmd@latest";
const DOMAIN = "bench";
const DESCRIPTOR = "identifier";
/** A limit that no load here reaches. */
const CONFIG = `domain: ${DOMAIN}
descriptors:
  - key: ${DESCRIPTOR}
    rate_limit: { unit: minute, requests_per_unit: 1000000000 }
`;
const LONGEST_START_MS = 10_000;

/** `envoy.service.ratelimit.v3.RateLimitRequest` of one descriptor, in its binary form. */
const rateLimitRequest = (identifier: string): Uint8Array => {
  const text = (writer: BinaryWriter, field: number, value: string) => writer.tag(field, WireType.LengthDelimited).string(value);
  const nested = (writer: BinaryWriter, field: number) => writer.tag(field, WireType.LengthDelimited).fork();
  const request = text(new BinaryWriter(), 1, DOMAIN);
  text(text(nested(nested(request, 2), 1), 1, DESCRIPTOR), 2, identifier)
    .join()
    .join();
  return request.finish();
};

export interface EnvoyService {
  /** As Go's tools name the version that was built. */
  readonly version: string;
  readonly url: string;
  readonly message: Uint8Array;
  /** The service and its Redis. */
  readonly servers: readonly ServerProcess[];
  readonly stop: () => Promise<void>;
}

const untilListening = async (port: number): Promise<void> => {
  for (let waited = 0; ; waited += 50) {
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => socket.end(() => resolve(true)));
      socket.on("error", () => resolve(false));
    });
    if (isThere) return;
    if (waited >= LONGEST_START_MS) throw new Error(`nothing listens on port ${port} after ${LONGEST_START_MS} ms`);
    await sleep(50);
  }
};

/** Builds Envoy's rate limit service in `directory`; resolves to its version. Needs Go, and its module proxy or a cache of it. */
const build = async (directory: string): Promise<string> => {
  const env = { ...process.env, GOBIN: directory };
  await run("go", ["install", MODULE], { env });
  const { stdout } = await run("go", ["version", "-m", join(directory, "service_cmd")], { env });
  return /^\s*mod\s+\S+\s+(\S+)/m.exec(stdout)?.[1] ?? "unknown";
};

/** Builds Envoy's rate limit service, and starts it on the server's core with a Redis of its own, which keeps nothing on the disk. */
export const startEnvoyService = async (): Promise<EnvoyService> => {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-envoy-"));
  const remove = (): void => rmSync(directory, { recursive: true });
  try {
    const version = await build(directory);
    mkdirSync(join(directory, "config"));
    writeFileSync(join(directory, "config", "bench.yaml"), CONFIG);
    const [redisPort, port, grpcPort, debugPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const redis = startProgram("redis-server", ["--port", `${redisPort}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    await untilListening(redisPort);
    const service = startProgram(join(directory, "service_cmd"), [], {
      RUNTIME_ROOT: directory,
      RUNTIME_WATCH_ROOT: "false",
      REDIS_SOCKET_TYPE: "tcp",
      REDIS_URL: `127.0.0.1:${redisPort}`,
      HOST: "127.0.0.1",
      PORT: `${port}`,
      GRPC_HOST: "127.0.0.1",
      GRPC_PORT: `${grpcPort}`,
      DEBUG_HOST: "127.0.0.1",
      DEBUG_PORT: `${debugPort}`,
      USE_STATSD: "false",
    });
    await untilListening(grpcPort);
    return {
      version,
      url: `http://127.0.0.1:${grpcPort}/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit`,
      message: rateLimitRequest("user_1"),
      servers: [service, redis],
      stop: async () => {
        await service.stop();
        await redis.stop();
        remove();
      },
    };
  } catch (cause) {
    remove();
    throw cause;
  }
};
