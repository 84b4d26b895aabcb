import type { IncomingHttpHeaders } from "node:http";
import { parseContentType as parseConnect, parseTimeout as parseConnectTimeout } from "@connectrpc/connect/protocol-connect";
import { parseContentType as parseGrpc, parseTimeout as parseGrpcTimeout } from "@connectrpc/connect/protocol-grpc";
import { parseContentType as parseGrpcWeb } from "@connectrpc/connect/protocol-grpc-web";
import type { Violation } from "../../base/errors.ts";
import { headerText } from "../../http/headerFields.ts";

/** How one of the three protocols writes a unary call. */
export interface Protocol {
  readonly name: "connect" | "grpc" | "grpc-web";
  /** Messages come in a frame of flags, length and bytes instead of being the whole body. */
  readonly framed: boolean;
  readonly encodingHeader: string;
  readonly acceptEncodingHeader: string;
  readonly timeoutHeader: string;
  readonly parseTimeout: (
    value: string,
    maxTimeoutMs: number,
  ) => { readonly timeoutMs?: number | undefined; readonly error?: Error | undefined };
}

/** A protocol and the form of its messages. */
export interface Wire {
  readonly protocol: Protocol;
  /** Protobuf's binary form, else its JSON form. */
  readonly binary: boolean;
  /** Media type of an answer with a message in it. */
  readonly contentType: string;
}

const connect: Protocol = {
  name: "connect",
  framed: false,
  encodingHeader: "content-encoding",
  acceptEncodingHeader: "accept-encoding",
  timeoutHeader: "connect-timeout-ms",
  parseTimeout: parseConnectTimeout,
};

const grpc: Protocol = {
  name: "grpc",
  framed: true,
  encodingHeader: "grpc-encoding",
  acceptEncodingHeader: "grpc-accept-encoding",
  timeoutHeader: "grpc-timeout",
  parseTimeout: parseGrpcTimeout,
};

const grpcWeb: Protocol = { ...grpc, name: "grpc-web" };

const wire = (protocol: Protocol, prefix: string, binary: boolean): Wire => ({
  protocol,
  binary,
  contentType: prefix + (binary ? "proto" : "json"),
});

const wires = {
  connect: [wire(connect, "application/", false), wire(connect, "application/", true)],
  grpc: [wire(grpc, "application/grpc+", false), wire(grpc, "application/grpc+", true)],
  grpcWeb: [wire(grpcWeb, "application/grpc-web+", false), wire(grpcWeb, "application/grpc-web+", true)],
} as const;

/** gRPC in its binary form. */
export const grpcWire: Wire = wires.grpc[1];

/** All that are served. */
export const allWires: readonly Wire[] = Object.values(wires).flat();

/** In which requests are answered that tell nothing of themselves. */
export const jsonWire: Wire = wires.connect[0];

/** What a unary call with this `Content-Type` is written in; undefined for everything that is not served. */
export const wireOf = (contentType: string | undefined): Wire | undefined => {
  const asGrpc = parseGrpc(contentType ?? null);
  if (asGrpc) return wires.grpc[asGrpc.binary ? 1 : 0];
  const asConnect = parseConnect(contentType ?? null);
  if (asConnect) return asConnect.stream ? undefined : wires.connect[asConnect.binary ? 1 : 0];
  const asGrpcWeb = parseGrpcWeb(contentType ?? null);
  return asGrpcWeb && !asGrpcWeb.text ? wires.grpcWeb[asGrpcWeb.binary ? 1 : 0] : undefined;
};

/** For the header `Accept-Post` of an answer to any other content type. */
export const servedContentTypes: string = allWires.map(({ contentType }) => contentType).join(", ");

/** The caller's own deadline in ms from arrival, undefined without one, or what is wrong with it. */
export const timeoutOf = ({ protocol }: Wire, headers: IncomingHttpHeaders): number | undefined | Violation => {
  const value = headerText(headers[protocol.timeoutHeader]);
  if (value === undefined) return undefined;
  const { timeoutMs, error } = protocol.parseTimeout(value, Number.POSITIVE_INFINITY);
  return error === undefined ? timeoutMs : { location: `header.${protocol.timeoutHeader}`, message: "not a duration of this protocol" };
};

/** Smaller messages are not worth compressing. */
const minCompressed = 1024;

/** Whether a message of an answer is to be gzipped: it is worth it, and asked for, or nothing said and the request was. */
export const wantsGzip = ({ protocol }: Wire, headers: IncomingHttpHeaders, { length }: Uint8Array): boolean => {
  if (length < minCompressed) return false;
  const accepted = headerText(headers[protocol.acceptEncodingHeader]) ?? headerText(headers[protocol.encodingHeader]) ?? "";
  return accepted.split(",").some((name) => name.trim() === "gzip");
};
