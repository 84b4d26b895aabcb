/**
 * A server for `connectconformance`: our edges and our listener, around the service of the suite. Reads one
 * ServerCompatRequest from standard input, writes the ServerCompatResponse, and serves until it is ended.
 */
import {
  create,
  createRegistry,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  fromJsonString,
  type Message,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { systemClock } from "../../src/platform/base/clock.ts";
import type { Decoded } from "../../src/platform/codec/decoded.ts";
import { createListener } from "../../src/platform/http/listener.ts";
import { createConnectEdge } from "../../src/platform/rpc/edges/connect/connectEdge.ts";
import { createGrpcEdge } from "../../src/platform/rpc/edges/grpc/grpcEdge.ts";
import { createHealthService } from "../../src/platform/rpc/standard/health.ts";
import type { RpcRoutes } from "../../src/platform/rpc/wire/rpcRoutes.ts";
import { anybody, conformancePipeline, describeError } from "./conformanceService.ts";
import {
  type ServerCompatRequest,
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/server_compat_pb.ts";
import { ConformanceService, file_connectrpc_conformance_v1_service } from "./gen/connectrpc/conformance/v1/service_pb.ts";

const services = [ConformanceService];
const registry = createRegistry(file_connectrpc_conformance_v1_service);
const host = "127.0.0.1";
const lengthBytes = 4;
const { unary, unimplemented } = ConformanceService.method;

const utf8 = new TextDecoder("utf-8", { fatal: true });

const reading = ({ input }: DescMethodUnary, read: () => Message): Decoded<DescMessage> => {
  try {
    return { message: read(), violations: [] };
  } catch {
    return { message: create(input), violations: [{ location: "body", message: `not a message ${input.typeName}` }] };
  }
};

/** The suite's messages hold what no message of ours does, so they are written by reflection, and there is nothing to validate. */
const routes: RpcRoutes = new Map(
  [unary, unimplemented].map((method: DescMethodUnary) => [
    `/${ConformanceService.typeName}/${method.name}`,
    {
      method,
      binary: {
        read: (bytes) => reading(method, () => fromBinary(method.input, bytes, { readUnknownFields: false })),
        write: (init) => toBinary(method.output, create(method.output, { ...init })),
      },
      json: {
        read: (bytes) => reading(method, () => fromJsonString(method.input, utf8.decode(bytes), { registry })),
        write: (init) => Buffer.from(toJsonString(method.output, create(method.output, { ...init }), { registry })),
      },
    },
  ]),
);

/** A defect ends the server, and with it the cases that are left. */
const onFault = (error: unknown): void => {
  process.nextTick(() => {
    throw error;
  });
};

const start = async ({ useTls, serverCreds, messageReceiveLimit }: ServerCompatRequest) => {
  const shared = {
    services,
    routes,
    pipeline: conformancePipeline,
    findCaller: () => anybody,
    describeError,
    clock: systemClock,
    errorsBaseUrl: () => "https://docs.example/latchkey",
    maxBodyBytes: messageReceiveLimit || 10_485_760,
    observer: { refused: () => undefined, fault: (_requestId: string, error: unknown) => onFault(error) },
    health: createHealthService(services),
    publicStreams: { admit: () => true },
    reflection: false,
  };
  const tls = useTls && serverCreds ? { cert: Buffer.from(serverCreds.cert), key: Buffer.from(serverCreds.key) } : undefined;
  const { address } = await createListener({
    ...shared,
    host,
    port: 0,
    tls,
    handler: createConnectEdge(shared).handle,
    streams: createGrpcEdge(shared),
    onFault,
  });
  return create(ServerCompatResponseSchema, { host, port: address.port, ...(tls && { pemCert: tls.cert }) });
};

/** Reads one message behind its length. */
const readRequest = async (): Promise<ServerCompatRequest> => {
  let input = Buffer.alloc(0);
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    input = Buffer.concat([input, chunk]);
    const end = input.length < lengthBytes ? Number.POSITIVE_INFINITY : lengthBytes + input.readUInt32BE();
    if (input.length >= end) return fromBinary(ServerCompatRequestSchema, input.subarray(lengthBytes, end));
  }
  throw new Error("standard input ended before the request did");
};

const response = toBinary(ServerCompatResponseSchema, await start(await readRequest()));
const length = Buffer.alloc(lengthBytes);
length.writeUInt32BE(response.length);
process.stdout.write(Buffer.concat([length, response]));
