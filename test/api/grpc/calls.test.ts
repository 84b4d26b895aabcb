// @same-on-every-engine
import { type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { gunzipSync, gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import { CreateApiRequestSchema, CreateApiResponseSchema } from "../../../gen/latchkey/v2/apis_pb.ts";
import { GetKeyRequestSchema, GetKeyResponseSchema, KeysService, UpdateKeyRequestSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { request } from "../../support/envelope.ts";
import { failureOf, rpcTransports } from "../../support/rpcClients.ts";
import { engines } from "../../support/stores.ts";
import { everythingIn } from "../../support/written.ts";

const maxBodyBytes = 2_048;

/** A message in its frame. */
const frame = (bytes: Uint8Array, compressed = false): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed ? 1 : 0, 0);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
};

describe.each(engines)("on $name", (engine) => {
  let api: Api;
  let keyId: string;
  /** Operations on keys wait for this, if it is there. */
  let hold: PromiseWithResolvers<void> | undefined;
  /** Operations that have begun since. */
  let begun: string[] = [];

  beforeAll(async () => {
    const store = interceptStore(await engine.open(), async (operation, { collection, name }) => {
      if (hold && collection === "keys" && name !== "find") {
        begun.push(name);
        await hold.promise;
      }
      return operation();
    });
    api = await startApi(engine, { store, env: { MAX_BODY_BYTES: String(maxBodyBytes) } });
    const v2 = async (procedure: string, body: unknown) => dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body }));
    const { apiId } = await v2("apis.createApi", { name: "calls" });
    ({ keyId } = (await v2("keys.createKey", { apiId, name: "before" })) as { keyId: string });
    // A settled key has no pending write.
    const isSettled = async () => (await store.collection("keys").findOne({ _id: keyId }))?.pendingMark === undefined;
    await vi.waitUntil(isSettled, { timeout: 20_000 });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const root = () => ({ authorization: `Bearer ${api.rootKey}` });
  const holdStore = (): void => {
    begun = [];
    hold = Promise.withResolvers();
  };
  const releaseStore = (): void => {
    hold?.resolve();
    hold = undefined;
  };
  afterEach(releaseStore);
  const updateName = toBinary(
    UpdateKeyRequestSchema,
    create(UpdateKeyRequestSchema, { keyId: "", name: { kind: { case: "value", value: "after" } } }),
  );
  const updateBody = (): Uint8Array =>
    Buffer.concat([toBinary(UpdateKeyRequestSchema, create(UpdateKeyRequestSchema, { keyId })), updateName]);

  /** One gRPC call on a connection of its own; `status` resolves when the server has answered. */
  const grpcCall = (method: string, body: Uint8Array, headers: Record<string, string> = {}) => {
    const session = connectHttp2(api.url);
    const stream: ClientHttp2Stream = session.request({
      ...{ ":method": "POST", ":path": `/latchkey.v2.${method}`, "content-type": "application/grpc", te: "trailers" },
      ...root(),
      ...headers,
    });
    const chunks: Buffer[] = [];
    let encoding: unknown;
    stream.on("response", (received) => {
      encoding = received["grpc-encoding"];
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    const status = new Promise<string>((resolve, reject) => {
      stream.on("trailers", (trailers) => resolve(String(trailers["grpc-status"])));
      stream.on("response", (received) => received["grpc-status"] !== undefined && resolve(String(received["grpc-status"])));
      stream.on("error", reject).on("close", () => reject(new Error("closed without a status")));
    }).finally(() => session.close());
    stream.end(body);
    return { stream, status, message: () => Buffer.concat(chunks), encoding: () => encoding };
  };

  test.each([
    ["gRPC", "grpc-timeout", "1000m"],
    ["gRPC in microseconds", "grpc-timeout", "1000000u"],
  ])("[grpc §3] a deadline ends the call, and nothing more is started: %s", async (_, name, value) => {
    const before = await everythingIn(api.store);
    holdStore();
    const call = grpcCall("KeysService/UpdateKey", frame(updateBody()), { [name]: value });
    await expect.poll(() => begun).toEqual(["findOne"]);
    // The deadline, which began earlier, ends earlier, however busy the machine is.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    releaseStore();
    expect(await call.status).toBe("4");
    expect(begun).not.toContain("updateOne");
    expect(await everythingIn(api.store)).toEqual(before);
  });

  test("[grpc §3] a deadline of Connect ends the call as well, with deadline_exceeded and its ErrorDetail", async () => {
    holdStore();
    const headers = { ...root(), "content-type": "application/json", "connect-timeout-ms": "1000" };
    const url = `${api.url}/latchkey.v2.KeysService/UpdateKey`;
    const answer = fetch(url, { method: "POST", headers, body: JSON.stringify({ keyId, name: { value: "after" } }) });
    await expect.poll(() => begun).toEqual(["findOne"]);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    releaseStore();
    const response = await answer;
    expect(await response.json()).toMatchObject({
      code: "deadline_exceeded",
      details: [{ debug: { httpStatus: 408, type: expect.stringMatching(/\/errors\/user\/bad_request\/request_timeout$/) } }],
    });
  });

  test("[grpc §3] a deadline that has passed on arrival starts nothing", async () => {
    for (const timeout of ["1n", "0m", "1u"]) {
      holdStore();
      expect([timeout, await grpcCall("KeysService/UpdateKey", frame(updateBody()), { "grpc-timeout": timeout }).status]).toEqual([
        timeout,
        "4",
      ]);
      expect(begun).toEqual([]);
      releaseStore();
    }
  });

  test("[grpc §3] a deadline of more than a minute, or none, does not hurt", async () => {
    const body = frame(toBinary(GetKeyRequestSchema, create(GetKeyRequestSchema, { keyId })));
    for (const headers of [{ "grpc-timeout": "99999999H" }, { "grpc-timeout": "59S" }, {}] as Record<string, string>[]) {
      expect(await grpcCall("KeysService/GetKey", body, headers).status).toBe("0");
    }
    expect(await grpcCall("KeysService/GetKey", body, { "grpc-timeout": "soon" }).status).toBe("3");
  });

  test("[grpc §3] a cancelled call is abandoned where nothing is half done", async () => {
    const before = await everythingIn(api.store);
    holdStore();
    const call = grpcCall("KeysService/UpdateKey", frame(updateBody()));
    const closed = expect(call.status).rejects.toThrow();
    await expect.poll(() => begun).toEqual(["findOne"]);
    call.stream.close(constants.NGHTTP2_CANCEL);
    await closed;
    // The server learns of it before the store answers.
    await new Promise((resolve) => setTimeout(resolve, 500));
    releaseStore();
    const body = frame(toBinary(GetKeyRequestSchema, create(GetKeyRequestSchema, { keyId })));
    expect(await grpcCall("KeysService/GetKey", body).status).toBe("0");
    expect(await everythingIn(api.store)).toEqual(before);
  });

  test("[protocol §2] a /v2 client that disconnects leaves nothing half done either", async () => {
    const before = await everythingIn(api.store);
    holdStore();
    const aborted = new AbortController();
    const headers = { ...root(), "content-type": "application/json" };
    const body = JSON.stringify({ keyId, name: "after" });
    const answer = fetch(`${api.url}/v2/keys.updateKey`, { method: "POST", headers, body, signal: aborted.signal });
    const refused = expect(answer).rejects.toThrow();
    await expect.poll(() => begun).toEqual(["findOne"]);
    aborted.abort();
    await refused;
    await new Promise((resolve) => setTimeout(resolve, 500));
    releaseStore();
    expect(dataOf(await request(api.url, "keys.getKey", { rootKey: api.rootKey, body: { keyId } })).name).toBe("before");
    expect(await everythingIn(api.store)).toEqual(before);
  });

  describe("[grpc §3] message size", () => {
    /** A CreateApi request of exactly this many bytes: an unknown field fills it up. */
    const sized = (bytes: number): Uint8Array => {
      const valid = toBinary(CreateApiRequestSchema, create(CreateApiRequestSchema, { name: "sized" }));
      // Field 1000, a text whose length takes two bytes.
      const filler = bytes - valid.length - 4;
      const head = Buffer.from([0xc2, 0x3e, (filler & 0x7f) | 0x80, filler >> 7]);
      return Buffer.concat([valid, head, Buffer.alloc(filler, "x")]);
    };

    test.each([
      ["as it is", {}, (bytes: Uint8Array) => frame(bytes)],
      ["compressed", { "grpc-encoding": "gzip" }, (bytes: Uint8Array) => frame(gzipSync(bytes), true)],
    ])("exactly the limit is accepted, one more byte is resource_exhausted: %s", async (_, headers, write) => {
      for (const [size, status] of [
        [maxBodyBytes, "0"],
        [maxBodyBytes + 1, "8"],
        [16_000, "8"],
      ] as const) {
        const message = sized(size);
        expect(message).toHaveLength(size);
        expect([size, await grpcCall("ApisService/CreateApi", write(message), headers).status]).toEqual([size, status]);
      }
    });

    test("a small message that grows beyond all bounds is resource_exhausted", async () => {
      const bomb = gzipSync(Buffer.alloc(50_000_000));
      expect(bomb.length).toBeGreaterThan(maxBodyBytes);
      const small = gzipSync(Buffer.alloc(1_000_000));
      expect(small.length).toBeLessThan(maxBodyBytes);
      for (const body of [bomb, small]) {
        expect(await grpcCall("ApisService/CreateApi", frame(body, true), { "grpc-encoding": "gzip" }).status).toBe("8");
      }
    });

    test.each(Object.entries(rpcTransports))("a client over %s gets the messages of /v2", async (_, transport) => {
      const client = createClient(KeysService, transport(api.url));
      const tags = Array.from({ length: 20 }, () => crypto.randomUUID().repeat(3));
      const { code, detail } = await failureOf(client.verifyKey({ key: crypto.randomUUID().repeat(100), tags }, { headers: root() }));
      expect([code, detail.httpStatus, detail.violations]).toEqual(["resource_exhausted", 413, []]);
    });
  });

  test("[grpc §3] gzip is accepted, and used for long answers to those who accept it", async () => {
    const meta = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`property ${i}`, "x"]));
    dataOf(await request(api.url, "keys.updateKey", { rootKey: api.rootKey, body: { keyId, meta } }));
    const body = gzipSync(toBinary(GetKeyRequestSchema, create(GetKeyRequestSchema, { keyId })));
    const call = grpcCall("KeysService/GetKey", frame(body, true), { "grpc-encoding": "gzip", "grpc-accept-encoding": "gzip" });
    expect(await call.status).toBe("0");
    const message = call.message();
    expect([call.encoding(), message.readUInt8(0)]).toEqual(["gzip", 1]);
    expect(fromBinary(GetKeyResponseSchema, gunzipSync(message.subarray(5))).data?.meta).toEqual(meta);

    const plain = grpcCall("KeysService/GetKey", frame(gunzipSync(body)));
    expect(await plain.status).toBe("0");
    expect([plain.encoding(), plain.message().readUInt8(0)]).toEqual([undefined, 0]);
  });

  test("[grpc §3] many calls at once on one connection get their own answers", async () => {
    const session = connectHttp2(api.url);
    const names = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const headers = { ":method": "POST", ":path": "/latchkey.v2.ApisService/CreateApi", "content-type": "application/grpc" };
        const stream = session.request({ ...headers, te: "trailers", ...root() });
        stream.end(frame(toBinary(CreateApiRequestSchema, create(CreateApiRequestSchema, { name: `parallel ${i}` }))));
        const chunks: Buffer[] = [];
        for await (const chunk of stream) chunks.push(chunk as Buffer);
        const { data } = fromBinary(CreateApiResponseSchema, Buffer.concat(chunks).subarray(5));
        return [i, (await api.store.collection("apis").findOne({ _id: data?.apiId ?? "" }))?.name];
      }),
    );
    session.close();
    expect(names).toEqual(Array.from({ length: 100 }, (_, i) => [i, `parallel ${i}`]));
  });
});
