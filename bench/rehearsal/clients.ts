import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { fromBinary, fromJson, type Message, toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { CALL_HEADER } from "./startNginx.ts";
import type { AnswerData, Work } from "./work.ts";

/** What a call is sent with. */
interface Sent {
  /** Of the call, for the log of the proxy. */
  readonly id: string;
  /** Called with `host:port` to which it goes. */
  readonly onNode: (address: string) => void;
  /** Called when it is sent again, because the service said that it has not begun. */
  readonly onAgain: () => void;
}

/** A way in which applications call the service. Calls reject when they fail, whatever the reason. */
export interface RehearsalClient {
  readonly name: string;
  readonly call: (work: Work, sent: Sent) => Promise<AnswerData>;
  readonly close: () => void;
}

/** Where a call goes and as whom. */
export interface Access {
  readonly url: string;
  readonly rootKey: string;
  /** The authority of the proxy's certificate; left out for the nodes, which speak cleartext. */
  readonly ca?: string;
}

const DEADLINE = 10_000;

/** JSON over HTTP/1.1, on connections that are kept. */
export const createJsonClient = ({ url, rootKey, ca }: Access): RehearsalClient => {
  const agent = new Agent({ keepAlive: true, ca });
  const headers = { authorization: `Bearer ${rootKey}`, "content-type": "application/json" };
  return {
    name: "JSON",
    call: async ({ procedure, body }, { id }) => {
      const sent = request(`${url}/v2/${procedure}`, {
        method: "POST",
        agent,
        headers: { ...headers, [CALL_HEADER]: id },
        signal: AbortSignal.timeout(DEADLINE),
      });
      sent.end(JSON.stringify(body));
      const { promise, resolve, reject } = Promise.withResolvers<[number | undefined, string]>();
      sent.on("error", reject).on("response", (response) => {
        text(response).then((answer) => resolve([response.statusCode, answer]), reject);
      });
      const [status, answer] = await promise;
      if (status !== 200) throw new Error(`HTTP ${status}`);
      return JSON.parse(answer).data;
    },
    close: () => agent.destroy(),
  };
};

/** gRPC of `@connectrpc/connect-node`, which sends again what was refused before it had begun, as docs/grpc.md has it. */
export const createConnectClient = ({ url, rootKey, ca }: Access, name = "gRPC"): RehearsalClient => {
  const transport = createGrpcTransport({ baseUrl: url, ...(ca !== undefined && { nodeOptions: { ca } }) });
  return {
    name,
    call: async ({ method, body }, { id, onNode, onAgain }) => {
      onNode(new URL(url).host);
      const headers = { authorization: `Bearer ${rootKey}`, [CALL_HEADER]: id };
      const send = () => transport.unary(method, undefined, DEADLINE, headers, fromJson(method.input, body));
      const { message } = await send().catch((error) => {
        if (!ConnectError.from(error).message.includes("NGHTTP2_REFUSED_STREAM")) throw error;
        onAgain();
        return send();
      });
      return (message as Message & { data?: AnswerData }).data ?? {};
    },
    close: () => undefined,
  };
};

/** gRPC of `@grpc/grpc-js`, which sends such calls again by itself. */
export const createGrpcJsClient = ({ url, rootKey }: Access): RehearsalClient => {
  const client = new Client(new URL(url).host, credentials.createInsecure(), {
    "grpc.initial_reconnect_backoff_ms": 200,
    "grpc.max_reconnect_backoff_ms": 1_000,
  });
  return {
    name: "grpc-js",
    call: ({ method, body }, { onNode }) => {
      onNode(new URL(url).host);
      const metadata = new Metadata();
      metadata.set("authorization", `Bearer ${rootKey}`);
      const { promise, resolve, reject } = Promise.withResolvers<AnswerData>();
      client.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: Message) => Buffer.from(toBinary(method.input, message)),
        (bytes) => fromBinary(method.output, bytes) as Message & { data?: AnswerData },
        fromJson(method.input, body),
        metadata,
        { deadline: Date.now() + DEADLINE },
        (error, answer) => (error ? reject(error) : resolve(answer?.data ?? {})),
      );
      return promise;
    },
    close: () => client.close(),
  };
};

/**
 * A client of its own for each node, in turns. Where a connection is refused, so that nothing was sent, the next node is asked.
 * @param clients one for each node, in their order.
 */
export const inTurns = (name: string, clients: readonly RehearsalClient[]): RehearsalClient => {
  let next = 0;
  return {
    name,
    call: async (work, sent) => {
      const first = next++ % clients.length;
      let refused: unknown;
      for (const client of [...clients.slice(first), ...clients.slice(0, first)]) {
        try {
          return await client.call(work, sent);
        } catch (error) {
          if (!String(error).includes("ECONNREFUSED")) throw error;
          refused = error;
        }
      }
      throw refused;
    },
    close: () => {
      for (const client of clients) client.close();
    },
  };
};
