import { gzipSync } from "node:zlib";
import { BinaryWriter } from "@bufbuild/protobuf/wire";

/** Where a body goes: `/v2` JSON, or RPC with one of its forms. gRPC's frame is the sender's business. */
export type BodyEdge = "v2" | "connect-json" | "binary";

/** A body that costs much to read for what it costs to send. Each is a valid request of its size, or close to one. */
export interface AttackBody {
  /** What it is, in a few words. */
  readonly name: string;
  /** `namespace.procedure`. */
  readonly procedure: string;
  readonly edge: BodyEdge;
  /** `gzip`: to be sent compressed, with the edge's header for that. Not on `/v2`. */
  readonly compression: "gzip" | "identity";
  /** Made when it is asked for. @param room about as many bytes where it has no length of its own; 10 MB unless told. */
  readonly bytes: (room?: number) => Buffer;
  /** The status that `/v2` answers a caller who may do nothing. */
  readonly status: 400 | 403;
}

/** The largest body that is accepted. */
const limit = 10_485_760;
const most: number = limit - 200;

/** As many items as there is room for, or `mostItems`. */
const fill = (
  room: number,
  head: string,
  item: (index: number) => string,
  tail: string,
  mostItems: number = Number.POSITIVE_INFINITY,
): Buffer => {
  const items: string[] = [];
  for (let size = head.length + tail.length, i = 0; i < mostItems; i++) {
    const next = item(i);
    size += next.length + 1;
    if (size > room) break;
    items.push(next);
  }
  return Buffer.from(head + items.join(",") + tail);
};

const repeat = (bytes: readonly number[], size: number): Buffer => Buffer.alloc(size - (size % bytes.length), Buffer.from(bytes));

/** A field with a length in front of it. */
const field = (number: number, content: Uint8Array): Uint8Array => new BinaryWriter().tag(number, 2).bytes(content).finish();

const identity = (meta: Uint8Array): Buffer =>
  Buffer.from(
    new BinaryWriter()
      .raw(field(1, Buffer.from("x")))
      .raw(field(2, meta))
      .finish(),
  );

/** The binary form of `{"externalId":"x","meta":{"a":[1,1,…]}}`. */
const identityOfOnes = (count: number): Buffer => {
  const value = field(1, new BinaryWriter().tag(2, 1).double(1).finish());
  const list = field(6, Buffer.alloc(value.length * count, value));
  return identity(field(1, Buffer.concat([field(1, Buffer.from("a")), field(2, list)])));
};

/** An object within an object, as often as there is room for, without copying each into the next. */
const nestedStructs = (room: number): Buffer => {
  const bytes = Buffer.alloc(room);
  let start = room;
  // From the innermost one outwards: Value { struct_value }, entry { key "", value }, Struct { fields }.
  while (start >= 3 * 5) {
    for (const tag of [0x2a, 0x12, 0x0a]) {
      const length = room - start;
      const size = length < 0x80 ? 1 : length < 0x40_00 ? 2 : length < 0x20_00_00 ? 3 : 4;
      for (let i = 1; i <= size; i++) bytes[--start] = ((length >>> (7 * (size - i))) & 0x7f) | (i === 1 ? 0 : 0x80);
      bytes[--start] = tag;
    }
  }
  return bytes.subarray(start);
};

const json: readonly Pick<AttackBody, "name" | "procedure" | "bytes" | "status">[] = [
  {
    name: "an object of 667,000 members",
    procedure: "identities.createIdentity",
    status: 400,
    bytes: (room = most) => fill(room, '{"externalId":"x","meta":{', (i) => `"${i.toString(36).padStart(7, "0")}":${i % 10}`, "}}"),
  },
  {
    name: "524,000 numbers in a mebibyte",
    procedure: "identities.createIdentity",
    status: 400,
    bytes: () => Buffer.from(`{"externalId":"x","meta":{"a":[${"1,".repeat(524_200)}1]}}`),
  },
  {
    name: "the legal 99,000 texts in a mebibyte",
    procedure: "identities.createIdentity",
    status: 403,
    bytes: () => Buffer.from(JSON.stringify({ externalId: "x", meta: { a: Array(99_000).fill("abcdefg") } })),
  },
  {
    name: "the legal 95,000 members of one object, in no order",
    procedure: "identities.createIdentity",
    status: 403,
    bytes: () => {
      const members = Array.from({ length: 95_000 }, (_, i) => `"m${((i * 7_919) % 95_000).toString(36)}":${i % 10}`);
      return Buffer.from(`{"externalId":"x","meta":{"a":{${members.join(",")}}}}`);
    },
  },
  {
    name: "the legal 990 levels around a mebibyte",
    procedure: "identities.createIdentity",
    status: 403,
    bytes: () => Buffer.from(`{"externalId":"x","meta":${'{"a":'.repeat(990)}"${"x".repeat(1_040_000)}"${"}".repeat(990)}}`),
  },
  {
    name: "the legal 3,600 objects of 25 members",
    procedure: "identities.createIdentity",
    status: 403,
    bytes: () => {
      const object = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`n${i}`, i]));
      return Buffer.from(JSON.stringify({ externalId: "x", meta: { a: Array(60).fill(Array(60).fill(object)) } }));
    },
  },
  {
    name: "arrays within arrays, closed",
    procedure: "identities.createIdentity",
    status: 400,
    bytes: (room = most) => Buffer.from(`{"externalId":"x","meta":{"a":${"[".repeat(room / 2)}${"]".repeat(room / 2)}}}`),
  },
  {
    name: "arrays within arrays, never closed",
    procedure: "identities.createIdentity",
    status: 400,
    bytes: (room = most) => Buffer.from(`{"externalId":"x","meta":{"a":${"[".repeat(room)}`),
  },
  {
    name: "arrays within arrays that nobody asked for",
    procedure: "identities.createIdentity",
    status: 400,
    bytes: (room = most) => Buffer.from(`{"externalId":"x","other":${"[".repeat(room / 2)}${"]".repeat(room / 2)}}`),
  },
  {
    name: "unknown members",
    procedure: "keys.verifyKey",
    status: 400,
    bytes: (room = most) => fill(room, "{", (i) => `"${i.toString(36)}":0`, "}"),
  },
  {
    name: "one unknown list of empty objects",
    procedure: "keys.verifyKey",
    status: 400,
    bytes: (room = most) => fill(room, '{"a":[', () => "{}", "]}"),
  },
  {
    name: "one member again and again",
    procedure: "keys.verifyKey",
    status: 400,
    bytes: (room = most) => fill(room, "{", () => '"key":1', "}"),
  },
  {
    name: "metadata again and again",
    procedure: "keys.createKey",
    status: 400,
    bytes: (room = most) => fill(room, "{", () => '"meta":{"a":[1,{}]}', "}"),
  },
  {
    name: "keys without anything",
    procedure: "keys.migrateKeys",
    status: 400,
    bytes: (room = most) => fill(room, '{"keys":[', () => "{}", "]}"),
  },
  {
    name: "keys with next to nothing",
    procedure: "keys.migrateKeys",
    status: 403,
    bytes: (room = most) => fill(room, '{"migrationId":"mig","apiId":"api","keys":[', () => '{"hash":"abc"}', "]}", 49_000),
  },
  {
    name: "more keys with next to nothing than are legal",
    procedure: "keys.migrateKeys",
    status: 400,
    bytes: (room = most) => fill(Math.max(room, 1_000_000), '{"migrationId":"mig","apiId":"api","keys":[', () => '{"hash":"abc"}', "]}"),
  },
  {
    name: "the most keys that are legal, of two fields",
    procedure: "keys.migrateKeys",
    status: 403,
    bytes: (room = most) =>
      fill(room, '{"migrationId":"mig","apiId":"api","keys":[', (i) => `{"hash":"${`${i}`.padEnd(44, "x")}","name":"key"}`, "]}", 33_000),
  },
  {
    name: "keys with the most of everything",
    procedure: "keys.migrateKeys",
    status: 403,
    bytes: (room = most) => {
      const permissions = JSON.stringify(Array.from({ length: 1_000 }, (_, i) => `documents.${i}`));
      const meta = `{"a":"${"x".repeat(65_000)}"}`;
      const item = (i: number) => `{"hash":"hash${i}","meta":${meta},"permissions":${permissions}}`;
      return fill(room, '{"migrationId":"mig","apiId":"api","keys":[', item, "]}");
    },
  },
  {
    name: "one very long text",
    procedure: "keys.verifyKey",
    status: 400,
    bytes: (room = most) => Buffer.from(`{"key":"${"x".repeat(room)}"}`),
  },
  {
    name: "one very long text of escapes",
    procedure: "keys.verifyKey",
    status: 400,
    bytes: (room = most) => Buffer.from(`{"key":"${"\\u00e9".repeat(room / 6)}"}`),
  },
  {
    name: "a long text of escapes in metadata",
    procedure: "identities.createIdentity",
    status: 400,
    // More than a mebibyte once it is decoded.
    bytes: (room = most) => Buffer.from(`{"externalId":"x","meta":{"a":"${"\\u00e9".repeat(Math.max(room, 3_300_000) / 6)}"}}`),
  },
  {
    name: "one very long number",
    procedure: "ratelimit.limit",
    status: 400,
    bytes: (room = most) => Buffer.from(`{"namespace":"a","identifier":"b","limit":${"9".repeat(room)},"duration":1000}`),
  },
  { name: "white space", procedure: "keys.verifyKey", status: 400, bytes: (room = most) => Buffer.from(`{${" ".repeat(room)}}`) },
];

const entries = (edge: BodyEdge): AttackBody[] => json.map((body) => ({ ...body, edge, compression: "identity" }));

const multiLimit: readonly AttackBody[] = [
  {
    name: "checks without anything",
    procedure: "ratelimit.multiLimit",
    edge: "v2",
    compression: "identity",
    status: 400,
    bytes: (room = most) => fill(room, "[", () => "{}", "]"),
  },
  {
    name: "checks without anything",
    procedure: "ratelimit.multiLimit",
    edge: "connect-json",
    compression: "identity",
    status: 400,
    bytes: (room = most) => fill(room, '{"entries":[', () => "{}", "]}"),
  },
];

const binary: readonly AttackBody[] = (
  [
    {
      name: "an object of 667,000 members",
      procedure: "identities.createIdentity",
      status: 400,
      bytes: (room = most) => {
        const chunks: Uint8Array[] = [];
        for (let size = 0, i = 0; size < room - 100; i++) {
          const entry = field(1, Buffer.concat([field(1, Buffer.from(i.toString(36))), field(2, Uint8Array.of(0x20, 1))]));
          chunks.push(entry);
          size += entry.length;
        }
        return identity(Buffer.concat(chunks));
      },
    },
    {
      name: "524,000 numbers in a mebibyte",
      procedure: "identities.createIdentity",
      status: 400,
      bytes: () => identityOfOnes(524_200),
    },
    {
      name: "the legal 99,000 numbers",
      procedure: "identities.createIdentity",
      status: 403,
      bytes: () => identityOfOnes(99_000),
    },
    {
      name: "objects within objects",
      procedure: "identities.createIdentity",
      status: 400,
      bytes: (room = most) => identity(nestedStructs(room - 100)),
    },
    {
      name: "metadata in a million parts",
      procedure: "identities.createIdentity",
      status: 400,
      bytes: (room = most) => {
        const first = Buffer.concat(
          Array.from({ length: Math.min(200_000, Math.floor(room / 50)) }, (_, i) =>
            field(1, Buffer.concat([field(1, Buffer.from(`k${i}`)), field(2, Uint8Array.of(0x20, 1))])),
          ),
        );
        return Buffer.concat([identity(first), repeat([0x12, 0x00], room - first.length - 100)]);
      },
    },
    {
      name: "metadata in a few hundred parts, in a small body",
      procedure: "identities.createIdentity",
      status: 400,
      bytes: () => {
        const first = Buffer.concat(
          Array.from({ length: 900 }, (_, i) =>
            field(1, Buffer.concat([field(1, Buffer.from(`k${i}`)), field(2, Uint8Array.of(0x20, 1))])),
          ),
        );
        return Buffer.concat([identity(first), repeat([0x12, 0x00], 16_384)]);
      },
    },
    {
      name: "empty messages of a list",
      procedure: "ratelimit.multiLimit",
      status: 400,
      bytes: (room = most) => repeat([0x0a, 0x00], room),
    },
    { name: "empty keys", procedure: "keys.migrateKeys", status: 400, bytes: (room = most) => repeat([0x1a, 0x00], room) },
    {
      name: "keys with next to nothing",
      procedure: "keys.migrateKeys",
      status: 400,
      bytes: (room = most) => repeat([0x1a, 0x05, 0x0a, 0x03, 0x61, 0x62, 0x63], room),
    },
    { name: "unknown fields", procedure: "keys.verifyKey", status: 400, bytes: (room = most) => repeat([0x78, 0x00], room) },
    {
      name: "one unknown group",
      procedure: "keys.verifyKey",
      status: 400,
      bytes: (room = most) => Buffer.concat([Buffer.of(0x7b), repeat([0x78, 0x00], room), Buffer.of(0x7c)]),
    },
    { name: "groups within groups", procedure: "keys.verifyKey", status: 400, bytes: (room = most) => repeat([0x7b], room) },
    {
      name: "one very long text",
      procedure: "keys.verifyKey",
      status: 400,
      bytes: (room = most) => Buffer.from(field(1, Buffer.alloc(room, "x"))),
    },
  ] as const
).map((body) => ({ ...body, edge: "binary", compression: "identity" }));

/** A few hundred bytes a megabyte. */
const compressed: readonly AttackBody[] = [...entries("connect-json"), ...binary]
  .filter(({ name }) => name === "one unknown list of empty objects" || name === "empty messages of a list")
  .map((body) => ({ ...body, name: `${body.name}, compressed`, compression: "gzip", bytes: (room) => gzipSync(body.bytes(room)) }));

/** Bodies that held the event loop for up to seconds once, on every edge. */
export const attackBodies: readonly AttackBody[] = [...entries("v2"), ...entries("connect-json"), ...multiLimit, ...binary, ...compressed];
