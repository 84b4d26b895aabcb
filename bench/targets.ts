import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { VerifyKeyRequestSchema } from "../gen/latchkey/v2/keys_pb.ts";
import packageJson from "../package.json" with { type: "json" };
import type { LoadRequest } from "./load.ts";
import { type ServerProcess, startServer } from "./processes.ts";

export type TargetName = "http-echo" | "verify" | "limit" | "http2-echo" | "grpc-verify";

export interface Target {
  readonly name: TargetName;
  readonly description: string;
  /** What its requests per second are compared with. */
  readonly yardstick: TargetName;
  readonly server: ServerProcess;
  readonly call: Pick<LoadRequest, "url" | "protocol" | "headers" | "body">;
}

/** The arguments of Node with which `npm start` (`exec node …`) runs the service. */
const startArguments = packageJson.scripts.start.split(" ").slice(2);

/** A running service. */
export interface Served {
  readonly server: ServerProcess;
  readonly url: string;
  readonly adminUrl: string;
  readonly rootKey: string;
  /** Calls a procedure of `/v2` as the root key; the `data` of its answer. */
  readonly call: <T>(procedure: string, body: object) => Promise<T>;
}

/**
 * Starts the service on free ports and waits until it is ready.
 * @param rootKey the file that the first start writes in the `DATA_DIR` of `env` unless told.
 * @param nodeFlags flags of Node, such as those of the profiler.
 */
export const serve = async (
  env: Readonly<Record<string, string>>,
  { rootKey, nodeFlags = [] }: { readonly rootKey?: string; readonly nodeFlags?: readonly string[] } = {},
): Promise<Served> => {
  const server = startServer([...nodeFlags, ...startArguments], { PORT: "0", ADMIN_PORT: "0", LOG_LEVEL: "info", ...env });
  const [, url = "", adminUrl = ""] = await server.waitFor(/"url":"([^"]+)","adminUrl":"([^"]+)"/);
  const key = rootKey ?? readFileSync(join(env.DATA_DIR ?? "", "root-key"), "utf8").trim();
  return {
    server,
    url,
    adminUrl,
    rootKey: key,
    call: async <T>(procedure: string, body: object): Promise<T> => {
      const response = await fetch(`${url}/v2/${procedure}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const answer = (await response.json()) as { data: T };
      if (response.status !== 200) throw new Error(`${procedure}: ${JSON.stringify(answer)}`);
      return answer.data;
    },
  };
};

export interface BenchService extends Served {
  readonly dataDir: string;
  readonly apiId: string;
  /** A key with two permissions and one rate limit that applies by itself, without credits; verified once. */
  readonly key: string;
  readonly stop: () => Promise<void>;
}

/** Starts the service on an empty embedded store. @param nodeFlags flags of Node, such as those of the profiler. */
export const startBenchService = async (nodeFlags: readonly string[] = []): Promise<BenchService> => {
  const dataDir = mkdtempSync(join(tmpdir(), "latchkey-bench-data-"));
  const served = await serve({ DATA_DIR: dataDir }, { nodeFlags });
  const { server, call } = served;
  const { apiId } = await call<{ apiId: string }>("apis.createApi", { name: "bench" });
  const { key } = await call<{ key: string }>("keys.createKey", {
    apiId,
    permissions: ["documents.read", "documents.write"],
    ratelimits: [{ name: "requests", limit: 1_000_000_000, duration: 60_000, autoApply: true }],
  });
  const { code } = await call<{ code: string }>("keys.verifyKey", { key, permissions: "documents.read AND documents.write" });
  if (code !== "VALID") throw new Error(`the key of the benchmark is ${code}`);
  return {
    ...served,
    dataDir,
    apiId,
    key,
    stop: async () => {
      await server.stop();
      rmSync(dataDir, { recursive: true });
    },
  };
};

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** A gRPC message: not compressed, its length, its bytes. */
const frame = (message: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
};

/** The calls on a running service. */
export const serviceTargets = ({ server, url, rootKey, key }: BenchService): Target[] => {
  const authorization = `Bearer ${rootKey}`;
  const json = { authorization, "content-type": "application/json", accept: "application/json" };
  const permissions = "documents.read AND documents.write";
  const limit = { namespace: "bench", identifier: "user_1", limit: 1_000_000_000, duration: 60_000 };
  const message = toBinary(VerifyKeyRequestSchema, create(VerifyKeyRequestSchema, { key, permissions }));
  return [
    {
      name: "verify",
      description: "/v2 keys.verifyKey: warm, two permissions, one rate limit",
      yardstick: "http-echo",
      server,
      call: { url: `${url}/v2/keys.verifyKey`, protocol: "http1", headers: json, body: base64(JSON.stringify({ key, permissions })) },
    },
    {
      name: "limit",
      description: "/v2 ratelimit.limit",
      yardstick: "http-echo",
      server,
      call: { url: `${url}/v2/ratelimit.limit`, protocol: "http1", headers: json, body: base64(JSON.stringify(limit)) },
    },
    {
      name: "grpc-verify",
      description: "gRPC KeysService/VerifyKey: the same key",
      yardstick: "http2-echo",
      server,
      call: {
        url: `${url}/latchkey.v2.KeysService/VerifyKey`,
        protocol: "http2",
        headers: { authorization, "content-type": "application/grpc+proto", te: "trailers" },
        body: frame(message).toString("base64"),
      },
    },
  ];
};

/** A bare server that answers the same request as `like` by sending it back. */
export const startEcho = async (name: "http-echo" | "http2-echo", description: string, like: Target): Promise<Target> => {
  const server = startServer([join(import.meta.dirname, "servers", name === "http-echo" ? "httpEcho.ts" : "http2Echo.ts")]);
  const [port = ""] = await server.waitFor(/^\d+$/m);
  const { pathname } = new URL(like.call.url);
  return { name, description, yardstick: name, server, call: { ...like.call, url: `http://127.0.0.1:${port}${pathname}` } };
};
