import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { VerifyKeyRequestSchema } from "../gen/latchkey/v2/keys_pb.ts";
import { LimitRequestSchema } from "../gen/latchkey/v2/ratelimit_pb.ts";
import { type BenchService, PERMISSIONS, PLENTY, type Target } from "./targets.ts";

/** HTTP/2's way is compiled again only after some hundred thousand calls when others went before. */
const WARM_UP_SECONDS = 10;

/** A gRPC message: not compressed, its length, its bytes. */
const frame = (message: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
};

/** How a gRPC client sends a unary call with h2load. @param message in its binary form. */
export const grpcCall = (url: string, message: Uint8Array, headers: Readonly<Record<string, string>> = {}): Target["call"] => ({
  url,
  protocol: "http2",
  headers: { ...headers, "content-type": "application/grpc+proto", te: "trailers" },
  body: frame(message).toString("base64"),
});

/** The calls of gRPC and Connect on a running service with an empty store. */
export const rpcTargets = ({ server, url, rootKey, key }: BenchService): Target[] => {
  const authorization = `Bearer ${rootKey}`;
  const encode = <M extends DescMessage>(schema: M, init: MessageInitShape<M>): Uint8Array => toBinary(schema, create(schema, init));
  const verifyKey = encode(VerifyKeyRequestSchema, { key, permissions: PERMISSIONS });
  const limit = encode(LimitRequestSchema, { namespace: "bench", identifier: "user_1", limit: BigInt(PLENTY), duration: 60_000n });
  const verifyKeyUrl = `${url}/latchkey.v2.KeysService/VerifyKey`;
  return [
    {
      name: "connect-verify",
      description: "Connect KeysService/VerifyKey: the same key",
      yardstick: "http-echo",
      server,
      call: {
        url: verifyKeyUrl,
        protocol: "http1",
        headers: { authorization, "content-type": "application/proto", "connect-protocol-version": "1" },
        body: Buffer.from(verifyKey).toString("base64"),
      },
    },
    {
      name: "grpc-verify",
      description: "gRPC KeysService/VerifyKey: the same key",
      yardstick: "http2-echo",
      goal: 0.5,
      warmUpSeconds: WARM_UP_SECONDS,
      server,
      call: grpcCall(verifyKeyUrl, verifyKey, { authorization }),
    },
    {
      name: "grpc-limit",
      description: "gRPC RatelimitService/Limit, embedded: one identifier",
      yardstick: "http2-echo",
      warmUpSeconds: WARM_UP_SECONDS,
      server,
      call: grpcCall(`${url}/latchkey.v2.RatelimitService/Limit`, limit, { authorization }),
    },
  ];
};
