import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { VerifyKeyRequestSchema } from "../../gen/latchkey/v2/keys_pb.ts";
import type { Reason } from "../../src/platform/base/errors.ts";
import { procedureName } from "../../src/platform/rpc/procedureName.ts";
import { compileRpcRoutes } from "../../src/platform/rpc/wire/rpcRoutes.ts";
import { services } from "../../src/service/services.ts";
import { type Edges, startEdges } from "./support/startEdges.ts";

const verifyPath = "/latchkey.v2.KeysService/VerifyKey";
const headers = { authorization: "Bearer lkr_x" };
const answered = { data: { valid: true, code: 1 } };

const post = (
  edges: Edges,
  path: string,
  contentType: string | undefined,
  body: string | Uint8Array<ArrayBuffer>,
  more = {},
): Promise<Response> =>
  fetch(edges.url + path, { method: "POST", headers: { ...headers, ...(contentType && { "content-type": contentType }), ...more }, body });

/** A length-delimited field. */
const within = (field: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> => {
  const head = [(field << 3) | 2];
  for (let rest = bytes.length; ; rest >>>= 7) {
    head.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) return new Uint8Array(Buffer.concat([Uint8Array.from(head), bytes]));
  }
};

test("[grpc §1] every procedure is reachable", async () => {
  await using edges = await startEdges();
  for (const method of services.flatMap((service) => service.methods)) {
    const path = `/${method.parent.typeName}/${method.name}`;
    const response = await fetch(edges.url + path, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    expect([path, response.status]).toEqual([path, 401]);
    await response.body?.cancel();
  }
});

describe("[grpc §1] addresses that do not exist", () => {
  test.each([
    "/latchkey.v2.KeysService/Nothing",
    "/latchkey.v2.NoService/VerifyKey",
    "/latchkey.v2.KeysService/verifyKey",
    "/other.Service/Do",
  ])("%s is unimplemented in the manner of each protocol", async (path) => {
    await using edges = await startEdges();
    const connect = await post(edges, path, "application/proto", "");
    expect([connect.status, connect.headers.get("content-type")]).toEqual([404, "application/json"]);
    expect(await connect.json()).toMatchObject({ code: "unimplemented", details: [{ type: "latchkey.v2.ErrorDetail" }] });
    const web = await post(edges, path, "application/grpc-web+proto", new Uint8Array(5));
    expect(web.status).toBe(200);
    expect(await web.text()).toContain("grpc-status: 12");
    const session = connectHttp2(edges.url);
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" });
    const trailers = once(stream, "trailers");
    stream.end(Buffer.alloc(5));
    stream.resume();
    expect((await trailers)[0]["grpc-status"]).toBe("12");
    session.destroy();
  });

  test("JSON at an unknown address outside the package is a /v2 404, unless it says that it is Connect", async () => {
    await using edges = await startEdges();
    expect(await (await post(edges, "/other.Service/Do", "application/json", "{}")).json()).toHaveProperty("error.status", 404);
    const connect = await post(edges, "/other.Service/Do", "application/json", "{}", { "connect-protocol-version": "1" });
    expect(await connect.json()).toHaveProperty("code", "unimplemented");
  });

  test("below /v2/ an answer is an envelope, however the request is written", async () => {
    await using edges = await startEdges();
    expect(await (await post(edges, "/v2/keys.verifyKey", "application/grpc", "")).json()).toHaveProperty("error.status", 400);
  });

  test("other methods than POST are refused, so that no secret is in a URL", async () => {
    await using edges = await startEdges();
    const response = await fetch(`${edges.url}${verifyPath}?connect=v1&encoding=json&message=%7B%22key%22%3A%22k%22%7D`, { headers });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    expect(edges.invocations).toEqual([]);
  });

  test.each([undefined, "text/plain", "application/connect+proto", "application/grpc-web-text", "application/jsonx"])(
    "content type %s is 415 with what is served",
    async (type) => {
      await using edges = await startEdges();
      const response = await post(edges, verifyPath, type, new Uint8Array([1]));
      expect(response.status).toBe(415);
      expect(response.headers.get("accept-post")).toContain("application/grpc+proto");
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
      // Clients of gRPC and Connect take a bare 415 for `unknown`; JSON would have to be an error of Connect's.
      expect([response.headers.get("content-type"), await response.text()]).toEqual([
        "text/plain",
        expect.stringContaining("none of those"),
      ]);
    },
  );
});

describe("[grpc §2] messages that cannot be read", () => {
  const invalid = async (edges: Edges, type: string, body: string | Uint8Array<ArrayBuffer>, more = {}) => {
    const response = await post(edges, verifyPath, type, body, more);
    expect(response.status).toBe(400);
    const { code, details } = (await response.json()) as {
      code: string;
      details: { debug: { violations: { location: string; message: string }[] } }[];
    };
    expect(code).toBe("invalid_argument");
    return details[0]?.debug.violations ?? [];
  };

  test.each(["", "{", "[]", "null", '"x"', '{"key":"a"}}', '{"key":"\\ud800'])("JSON %j is a violation at body", async (body) => {
    await using edges = await startEdges();
    expect((await invalid(edges, "application/json", body)).map(({ location }) => location)).toEqual(["body"]);
  });

  test("unknown JSON fields are refused, wrong types named by field, and no value is repeated", async () => {
    await using edges = await startEdges();
    expect((await invalid(edges, "application/json", '{"key":"a","foo":"secret"}'))[0]?.message).toContain("'foo'");
    expect((await invalid(edges, "application/json", '{"\\ud800":1}'))[0]?.message).toContain("'\ufffd'");
    const [wrong] = await invalid(edges, "application/json", '{"key":{"s":"secret"}}');
    expect(wrong?.location).toBe("body.key");
    expect(JSON.stringify(wrong)).not.toContain("secret");
    expect((await invalid(edges, "application/json", '{"key":"k","credits":{"cost":"1.5"}}'))[0]?.location).toBe("body.credits.cost");
    expect(edges.invocations.map(({ violations }) => violations.length)).toEqual([1, 2, 1, 1]);
  });

  test.each([
    ["keys.verifyKey", '{"nope":1,"key":5,"tags":"t","credits":{"cost":-1,"more":{}},"ratelimits":[{"cost":0,"id":"rl_1"}]}'],
    ["keys.createKey", '{"name":"","externalId":"a b","nope":{},"__proto__":1,"meta":[],"credits":{"refill":{"amount":0}}}'],
    ["keys.createKey", '{"apiId":"api_1","enabled":"yes","expires":-1,"roles":["",5],"ratelimits":[{"name":"abc","limit":0,"x":1}]}'],
    ["identities.createIdentity", '{"externalId":"x y","nope":1,"ratelimits":[{"name":"abc"},{"name":"abc","limit":"x","duration":1}]}'],
    ["keys.updateCredits", '{"keyId":"key_1","nope":1}'],
    ["permissions.createRole", '{"name":null,"nope":1}'],
    ["apis.createApi", "{}"],
  ])("[grpc §3] all violations are reported together, with the locations of /v2: %s %s", async (procedure, body) => {
    await using edges = await startEdges();
    const path = [...compileRpcRoutes(services)].find(([, { method }]) => procedureName(method) === procedure)?.[0] ?? "";
    await post(edges, `/v2/${procedure}`, "application/json", body);
    await post(edges, path, "application/json", body);
    await post(edges, path, "application/json", body + " ".repeat(10_000));
    const [v2, small, large] = edges.invocations.map(({ violations }) => violations.map(({ location }) => location));
    expect([...(small ?? [])].sort()).toEqual([...(v2 ?? [])].sort());
    expect(large).toEqual(small);
    expect(small).not.toEqual([]);
  });

  test("[identities] the id of a limit that was read before is ignored, as on /v2", async () => {
    await using edges = await startEdges({ invoke: () => ({ data: { identityId: "id_1" } }) });
    const body = '{"externalId":"x","ratelimits":[{"id":"rl_1","name":"abc","limit":"1","duration":"1000"}]}';
    expect((await post(edges, "/latchkey.v2.IdentitiesService/CreateIdentity", "application/json", body)).status).toBe(200);
    expect(edges.invocations[0]?.message).toMatchObject({ ratelimits: [{ name: "abc", limit: 1n, duration: 1000n }] });
  });

  test("[grpc §2] Connect JSON is the Protobuf mapping: integers as text, names of enums, wrappers as messages, null as nothing", async () => {
    await using edges = await startEdges({ invoke: () => ({ data: {} }) });
    const update = "/latchkey.v2.KeysService/UpdateKey";
    const accepted = async (path: string, body: string): Promise<unknown> => {
      edges.invocations.length = 0;
      expect([body, (await post(edges, path, "application/json", body)).status]).toEqual([body, 200]);
      return edges.invocations[0]?.message;
    };
    const places = async (path: string, body: string): Promise<string[]> => {
      edges.invocations.length = 0;
      await post(edges, path, "application/json", body);
      return [...new Set((edges.invocations[0]?.violations ?? []).map(({ location }) => location))];
    };
    for (const padding of ["", " ".repeat(10_000)]) {
      const body = `{"key_id":"key_1","name":{"null":null},"externalId":{"value":"e"},"expires":{"value":"5"},"roles":{"values":["a"]},"enabled":null}`;
      expect(await accepted(update, body + padding)).toMatchObject({
        keyId: "key_1",
        name: { kind: { case: "null", value: 0 } },
        externalId: { kind: { case: "value", value: "e" } },
        expires: { kind: { case: "value", value: 5n } },
        roles: { values: ["a"] },
        enabled: undefined,
      });
      const credits = '{"keyId":"key_1","operation":"CREDIT_OPERATION_SET","value":{"value":7}}';
      expect(await accepted("/latchkey.v2.KeysService/UpdateCredits", credits + padding)).toMatchObject({ operation: 1 });
      expect(
        await accepted("/latchkey.v2.KeysService/UpdateCredits", credits.replace('"CREDIT_OPERATION_SET"', "1") + padding),
      ).toBeDefined();
      expect(await places(update, `{"keyId":"key_1","name":"plain","expires":{"value":"1.5"},"roles":["a"]}${padding}`)).toEqual([
        "body.name",
        "body.expires",
        "body.roles",
      ]);
      expect(
        await places(update, `{"keyId":"key_1","name":{},"expires":{"value":"1","null":null},"roles":{"values":[""],"x":1}}${padding}`),
      ).toEqual(["body.name", "body.expires", "body.roles[0]", "body.roles.x"]);
      expect(await places("/latchkey.v2.KeysService/UpdateCredits", `{"keyId":"key_1","operation":"set"}${padding}`)).toEqual([
        "body.operation",
      ]);
      expect(await places("/latchkey.v2.KeysService/UpdateCredits", `{"keyId":"key_1","operation":0}${padding}`)).toEqual([
        "body.operation",
      ]);
    }
  });

  test("unknown binary fields are ignored", async () => {
    await using edges = await startEdges({ invoke: () => answered });
    const bytes = new BinaryWriter()
      .raw(toBinary(VerifyKeyRequestSchema, create(VerifyKeyRequestSchema, { key: "k" })))
      .tag(9999, 2)
      .string("x")
      .finish();
    expect((await post(edges, verifyPath, "application/proto", bytes as Uint8Array<ArrayBuffer>)).status).toBe(200);
    expect(edges.invocations[0]?.message).toMatchObject({ key: "k" });
    expect(edges.invocations[0]?.message.$unknown).toBeUndefined();
  });

  test("nesting bombs are invalid, fifty levels of meta are not", async () => {
    await using edges = await startEdges({ invoke: () => ({ data: { keyId: "key_1", key: "sk_1" } }) });
    const create = async (levels: number, form: "binary" | "json") => {
      const json = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
      let struct = new Uint8Array();
      for (let i = 0; i < levels && form === "binary"; i++)
        struct = within(1, Buffer.concat([within(1, Buffer.from("a")), within(2, within(5, struct))]));
      const binary = new Uint8Array(Buffer.concat([within(1, Buffer.from("api_1")), within(6, struct)]));
      const body = form === "json" ? `{"apiId":"api_1","meta":${json}}` : binary;
      return (await post(edges, "/latchkey.v2.KeysService/CreateKey", form === "json" ? "application/json" : "application/proto", body))
        .status;
    };
    for (const form of ["json", "binary"] as const) {
      expect([form, await create(60, form)]).toEqual([form, 200]);
      expect([form, await create(2_000, form)]).toEqual([form, 400]);
    }
  });

  test.each([
    ["garbage", new Uint8Array([0xff, 0xff, 0xff, 0xff])],
    ["a length beyond the end", new Uint8Array([0x0a, 0x7f, 0x61])],
    ["text that is no UTF-8", new Uint8Array([0x0a, 0x02, 0xc3, 0x28])],
    ["a group without end", new Uint8Array([0x0b, 0x0b, 0x0b])],
  ])("binary %s is a violation at body", async (_, bytes) => {
    await using edges = await startEdges();
    expect((await invalid(edges, "application/proto", bytes)).map(({ location }) => location)).toEqual(["body"]);
  });

  test.each([
    ["half a frame", new Uint8Array([0, 0, 0])],
    ["a frame that is too short", new Uint8Array([0, 0, 0, 0, 9, 1])],
  ])("gRPC with %s is invalid_argument at body", async (_, bytes) => {
    await using edges = await startEdges();
    const response = await post(edges, verifyPath, "application/grpc-web+proto", bytes);
    expect(await response.text()).toContain("grpc-status: 3");
    expect(edges.invocations[0]?.violations).toMatchObject([{ location: "body" }]);
  });

  const misframed: readonly (readonly [string, Buffer, number, Reason])[] = [
    ["no frame", Buffer.alloc(0), Code.Unimplemented, "not_implemented"],
    ["two frames", Buffer.alloc(10), Code.Unimplemented, "not_implemented"],
    ["a frame and a half", Buffer.alloc(7), Code.Unimplemented, "not_implemented"],
    ["a compressed frame without a compression", Buffer.from([1, 0, 0, 0, 0]), Code.Internal, "invalid_input"],
  ];
  test.each(misframed)("gRPC and gRPC-Web with %s have the code that gRPC names for it", async (_, bytes, code, reason) => {
    await using edges = await startEdges();
    const web = await post(edges, verifyPath, "application/grpc-web+proto", new Uint8Array(bytes));
    expect(await web.text()).toContain(`grpc-status: ${code}`);
    const session = connectHttp2(edges.url);
    const stream = session.request({ ...headers, ":method": "POST", ":path": verifyPath, "content-type": "application/grpc" });
    const trailers = once(stream, "trailers");
    stream.end(bytes);
    stream.resume();
    expect((await trailers)[0]["grpc-status"]).toBe(String(code));
    session.destroy();
    expect(edges.invocations).toEqual([]);
    expect(edges.refused).toEqual(Array(2).fill({ method: "VerifyKey", reason }));
  });

  test("gzip that is damaged is invalid, a compression that is not known unimplemented", async () => {
    await using edges = await startEdges();
    const damaged = new Uint8Array(gzipSync("{}"));
    damaged[12] = 0xff;
    expect((await invalid(edges, "application/json", damaged, { "content-encoding": "gzip" }))[0]?.location).toBe("body");
    const response = await post(edges, verifyPath, "application/json", "{}", { "content-encoding": "br" });
    expect(await response.json()).toMatchObject({ code: "unimplemented", details: [{ debug: { httpStatus: 501 } }] });
  });

  test("a deadline that is no number is a violation of its header, one beyond a minute is not", async () => {
    await using edges = await startEdges({ invoke: () => answered });
    const body = '{"key":"k"}';
    expect(await invalid(edges, "application/json", body, { "connect-timeout-ms": "soon" })).toMatchObject([
      { location: "header.connect-timeout-ms" },
    ]);
    expect((await post(edges, verifyPath, "application/json", body, { "connect-timeout-ms": "9999999999" })).status).toBe(200);
    const response = await post(edges, verifyPath, "application/json", body, { "connect-timeout-ms": "0" });
    expect(await response.json()).toMatchObject({ code: "deadline_exceeded" });
  });
});
