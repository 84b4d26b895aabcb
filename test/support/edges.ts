import type { DescMethod, DescMethodUnary, DescService, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import * as grpc from "@grpc/grpc-js";
import { type Answer, authorization, type Edge, v2Edge } from "../../bench/harness/v2Edge.ts";
import { ErrorDetailSchema } from "../../gen/latchkey/v2/errors_pb.ts";
import { procedureName } from "../../src/platform/rpc/procedureName.ts";
import { services } from "../../src/service/services.ts";
import { type Codec, compileCodec } from "./compileCodec.ts";
import { expectDescribed } from "./described.ts";
import { expectDocumented } from "./documentedErrors.ts";
import { createGrpcClient } from "./grpcClient.ts";

interface Method {
  readonly desc: DescMethodUnary;
  readonly service: DescService;
  readonly request: Codec;
  readonly response: Codec;
}

const methods = new Map<string, Method>(
  services.flatMap((service) =>
    service.methods.map((desc: DescMethod) => [
      procedureName(desc),
      { desc: desc as DescMethodUnary, service, request: compileCodec(desc.input), response: compileCodec(desc.output) },
    ]),
  ),
);

export const procedureNames: readonly string[] = [...methods.keys()];

const methodOf = (procedure: string): Method => {
  const method = methods.get(procedure);
  if (!method) throw new Error(`there is no procedure ${procedure}`);
  return method;
};

const succeed = (method: Method, message: MessageShape<DescMethodUnary["output"]>): Answer => ({
  status: 200,
  body: JSON.parse(method.response.encode(message)) as Answer["body"],
});

const fail = (detail: MessageShape<typeof ErrorDetailSchema> | undefined, message: string, code: string): Answer => {
  if (!detail) throw new Error(`${code} without an ErrorDetail: ${message}`);
  const errors = detail.violations.map(({ location, message: text, fix }) => ({ location, message: text, ...(fix ? { fix } : {}) }));
  return {
    status: detail.httpStatus,
    body: {
      meta: { requestId: detail.requestId, ...(detail.degraded.length > 0 && { degraded: detail.degraded }) },
      error: { title: detail.title, detail: message, status: detail.httpStatus, type: detail.type, errors },
    },
  };
};

type Client = Record<string, (request: unknown, options: object) => Promise<MessageShape<DescMethodUnary["output"]>>>;

const connectEdge = (name: Edge["name"], transport: Transport): Edge => ({
  name,
  call: async (procedure, body, rootKey, { headers, onHeaders } = {}) => {
    const method = methodOf(procedure);
    const client = createClient(method.service, transport) as Client;
    try {
      const call = client[method.desc.localName];
      if (!call) throw new Error(`${procedure} is no method of its service`);
      return succeed(
        method,
        await call(method.request.decode(body).message, { headers: { ...authorization(rootKey), ...headers }, onHeader: onHeaders }),
      );
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      return fail(error.findDetails(ErrorDetailSchema)[0], error.rawMessage, Code[error.code]);
    }
  },
  close: () => undefined,
});

/** Fifty levels of a Struct are 150 messages within one another: readers stop at 100 by themselves. */
const binaryOptions = { recursionLimit: 1_000 };

const DETAILS_KEY = "grpc-status-details-bin";

/** The first detail of a `google.rpc.Status`: field 3 of it is a `google.protobuf.Any`, whose field 2 is the message. */
const detailOfStatus = (status: Uint8Array): MessageShape<typeof ErrorDetailSchema> | undefined => {
  const fieldOf = (bytes: Uint8Array, wanted: number): Uint8Array | undefined => {
    const varint = (at: number): [number, number] => {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++] ?? 0;
        value += (byte & 0x7f) * 2 ** shift;
        if (byte < 0x80) return [value, at];
      }
    };
    for (let at = 0; at < bytes.length; ) {
      const [tag, afterTag] = varint(at);
      const [size, afterSize] = varint(afterTag);
      if ((tag & 7) === 0) {
        at = afterSize;
        continue;
      }
      if (tag >> 3 === wanted) return bytes.subarray(afterSize, afterSize + size);
      at = afterSize + size;
    }
    return undefined;
  };
  const any = fieldOf(status, 3);
  const value = any && fieldOf(any, 2);
  return value && fromBinary(ErrorDetailSchema, value);
};

const pathOf = ({ service, desc }: Method): string => `/${service.typeName}/${desc.name}`;

const requestOf = (method: Method, body: unknown): Uint8Array =>
  toBinary(method.desc.input, create(method.desc.input, method.request.decode(body).message));

const grpcEdge = (url: string): Edge => {
  const client = createGrpcClient(url);
  return {
    name: "grpc",
    call: async (procedure, body, rootKey, { headers, onHeaders } = {}) => {
      const method = methodOf(procedure);
      const sent = { ...authorization(rootKey), ...headers };
      const answer = await client.call(pathOf(method), requestOf(method, body), sent);
      if (answer.response === undefined)
        return fail(answer.details && detailOfStatus(answer.details), answer.message, String(Code[answer.status]));
      onHeaders?.(answer.headers);
      return succeed(method, fromBinary(method.desc.output, answer.response, binaryOptions));
    },
    close: client.close,
  };
};

const grpcJsEdge = (url: string): Edge => {
  // Few tests call over this edge, and a client is dear to make.
  let client: grpc.Client | undefined;
  return {
    name: "grpc-js",
    call: (procedure, body, rootKey, { headers, onHeaders } = {}) => {
      const method = methodOf(procedure);
      const metadata = new grpc.Metadata();
      for (const [name, value] of Object.entries({ ...authorization(rootKey), ...headers })) metadata.set(name, value);
      client ??= new grpc.Client(new URL(url).host, grpc.credentials.createInsecure());
      const opened = client;
      return new Promise((resolve, reject) => {
        const request = opened.makeUnaryRequest(
          pathOf(method),
          (message: Uint8Array) => Buffer.from(message),
          (bytes: Buffer) => fromBinary(method.desc.output, bytes, binaryOptions),
          requestOf(method, body),
          metadata,
          (error, message) => {
            try {
              if (message) resolve(succeed(method, message));
              else {
                const status = error?.metadata.get(DETAILS_KEY)[0];
                resolve(fail(status instanceof Buffer ? detailOfStatus(status) : undefined, error?.details ?? "", String(error?.code)));
              }
            } catch (failure) {
              reject(failure);
            }
          },
        );
        request.on("metadata", (received: grpc.Metadata) => {
          onHeaders?.(new Headers(Object.entries(received.getMap()).map(([name, value]): [string, string] => [name, value.toString()])));
        });
      });
    },
    close: () => client?.close(),
  };
};

/** The same edge; an error that is not documented fails the test. */
const checked = (edge: Edge): Edge => ({
  ...edge,
  call: async (procedure, body, rootKey, exchange) => {
    const answer = await edge.call(procedure, body, rootKey, exchange);
    expectDocumented(procedure, answer);
    return answer;
  },
});

/** Checks every call and answer of an edge against `openapi.json`. */
const describedEdge = (edge: Edge): Edge => ({
  ...edge,
  call: async (procedure, body, rootKey, exchange) => {
    const answer = await edge.call(procedure, body, rootKey, exchange);
    expectDescribed(procedure, body, answer);
    return answer;
  },
});

const edgesOf = (url: string): readonly Edge[] => [
  describedEdge(v2Edge(url)),
  connectEdge("connect", createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: false })),
  grpcEdge(url),
  connectEdge("grpc-web", createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1", binaryOptions })),
  grpcJsEdge(url),
];

/** Every edge of a service at `url`. */
export const openEdges = (url: string): readonly Edge[] => edgesOf(url).map(checked);
