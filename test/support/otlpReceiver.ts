import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** A span as a collector gets it. Ids are hexadecimal. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: the first of its trace. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  /** 2: of a server; 3: of a client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly isError: boolean;
  /** Attributes that all spans of a node share. */
  readonly resource: Readonly<Record<string, string | number | boolean>>;
}

/** How a collector answers: with a status, or never. */
type Behaviour = number | "hang";

export interface OtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  /** Bodies of the requests, as they came. */
  readonly bodies: readonly Buffer[];
  readonly requests: readonly { readonly path: string | undefined; readonly headers: IncomingHttpHeaders }[];
  readonly spans: () => readonly ReceivedSpan[];
  readonly behave: (behaviour: Behaviour) => void;
  readonly close: () => Promise<void>;
}

type Fields = ReadonlyMap<number, readonly (Uint8Array | bigint | number)[]>;

/** The fields of any message, by their numbers. */
const fieldsOf = (bytes: Uint8Array): Fields => {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, (Uint8Array | bigint | number)[]>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const values = fields.getOrInsertComputed(number, () => []);
    if (type === WireType.LengthDelimited) values.push(reader.bytes());
    else if (type === WireType.Varint) values.push(Number(reader.int64()));
    else if (type === WireType.Bit64) values.push(BigInt(reader.fixed64()));
    else values.push(reader.fixed32());
  }
  return fields;
};

const messages = (fields: Fields, number: number): Fields[] => (fields.get(number) ?? []).map((bytes) => fieldsOf(bytes as Uint8Array));
const bytesOf = (fields: Fields, number: number): Buffer => Buffer.from((fields.get(number)?.[0] as Uint8Array | undefined) ?? []);
const textOf = (fields: Fields, number: number): string => bytesOf(fields, number).toString();

/** Of `KeyValue`s. Values of other kinds than these are none that we send. */
const attributesOf = (pairs: readonly Fields[]): ReceivedSpan["attributes"] =>
  Object.fromEntries(
    pairs.map((pair) => {
      const [value = new Map()] = messages(pair, 2);
      return [textOf(pair, 1), value.has(1) ? textOf(value, 1) : value.has(2) ? value.get(2)?.[0] === 1 : Number(value.get(3)?.[0])];
    }),
  );

/** The spans of an `ExportTraceServiceRequest`. */
const spansOf = (body: Uint8Array): ReceivedSpan[] =>
  messages(fieldsOf(body), 1).flatMap((ofNode) => {
    const resource = attributesOf(messages(ofNode, 1).flatMap((fields) => messages(fields, 1)));
    return messages(ofNode, 2)
      .flatMap((ofScope) => messages(ofScope, 2))
      .map((span) => ({
        traceId: bytesOf(span, 1).toString("hex"),
        spanId: bytesOf(span, 2).toString("hex"),
        traceState: textOf(span, 3),
        parentSpanId: bytesOf(span, 4).toString("hex"),
        name: textOf(span, 5),
        kind: Number(span.get(6)?.[0]),
        attributes: attributesOf(messages(span, 9)),
        isError: messages(span, 15)[0]?.get(3)?.[0] === 2,
        resource,
      }));
  });

/** A collector that takes OTLP over HTTP, in protobuf. */
export const startOtlpReceiver = async (): Promise<OtlpReceiver> => {
  const bodies: Buffer[] = [];
  const requests: { path: string | undefined; headers: IncomingHttpHeaders }[] = [];
  const hanging = new Set<ServerResponse>();
  let behaviour: Behaviour = 200;
  const server = createServer(async (req, res) => {
    const chunks = await req.toArray();
    requests.push({ path: req.url, headers: req.headers });
    if (behaviour === "hang") {
      hanging.add(res);
      return;
    }
    if (behaviour === 200) bodies.push(Buffer.concat(chunks));
    res.writeHead(behaviour, { "content-type": "application/x-protobuf" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    requests,
    spans: () => bodies.flatMap(spansOf),
    behave: (next) => {
      behaviour = next;
    },
    close: async () => {
      for (const res of hanging) res.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
