import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { type AttackBody, attackBodies } from "../../bench/attacks/bodies.ts";
import { CreateIdentityRequestSchema, IdentitiesService } from "../../gen/latchkey/v2/identities_pb.ts";
import { unaryMethods } from "../../src/platform/rpc/edges/unaryMethods.ts";
import { procedureName } from "../../src/platform/rpc/procedureName.ts";
import { jsonText, textOf } from "../../src/platform/util/jsonText.ts";
import { services } from "../../src/service/services.ts";
import { type Edges, startEdges } from "../rpc/support/startEdges.ts";
import { sized } from "../support/sized.ts";

/** Bytes of a body that has no length of its own: more than is decoded at once, or than any metadata may have; and the most there is. */
const roomOf = (procedure: string): number | undefined => sized(procedure === "identities.createIdentity" ? 1_100_000 : 400_000, undefined);

const paths = new Map(unaryMethods(services).map((method) => [procedureName(method), `/${method.parent.typeName}/${method.name}`]));

const contentTypes = { v2: "application/json", "connect-json": "application/json", binary: "application/proto" } as const;

const post = (edges: Edges, path: string, type: string, body: Buffer, more: Record<string, string> = {}): Promise<Response> =>
  fetch(edges.url + path, {
    method: "POST",
    headers: { authorization: "Bearer lkr_x", "content-type": type, ...more },
    body: new Uint8Array(body),
  });

const send = (edges: Edges, { edge, procedure, compression, bytes }: AttackBody, room = roomOf(procedure)): Promise<Response> => {
  const path = edge === "v2" ? `/v2/${procedure}` : (paths.get(procedure) ?? "");
  return post(edges, path, contentTypes[edge], bytes(room), compression === "gzip" ? { "content-encoding": "gzip" } : {});
};

describe("bodies that are expensive to read", () => {
  test.each(attackBodies.map((body) => [`${body.name} (${body.edge}, ${body.procedure})`, body] as const))("%s", async (_, body) => {
    await using edges = await startEdges();
    const response = await send(edges, body);
    // This pipeline allows every call.
    expect(response.status).toBe(body.status === 403 ? 200 : 400);
    await response.body?.cancel();
    const { violations } = edges.invocations[0] ?? { violations: [] };
    expect(violations.length).toBeLessThanOrEqual(1000);
    expect(violations.length > 0).toBe(body.status === 400);
  });

  test("a body whose caller has gone is not decoded", async () => {
    await using edges = await startEdges();
    const large = attackBodies.find(({ name, edge }) => name === "keys with the most of everything" && edge === "v2") as AttackBody;
    const controller = new AbortController();
    const calls = Array.from({ length: 20 }, () =>
      fetch(`${edges.url}/v2/${large.procedure}`, {
        method: "POST",
        headers: { authorization: "Bearer lkr_x", "content-type": "application/json" },
        body: new Uint8Array(large.bytes(1_100_000)),
        signal: controller.signal,
      }).catch(() => undefined),
    );
    await expect.poll(() => edges.invocations.length).toBeGreaterThan(0);
    controller.abort();
    await Promise.all(calls);
    expect((await post(edges, "/v2/keys.verifyKey", "application/json", Buffer.from('{"key":"k"}'))).status).toBe(200);
    await expect
      .poll(() => {
        const before = edges.invocations.length;
        return new Promise((resolve) => setTimeout(() => resolve(edges.invocations.length - before), 50));
      })
      .toBe(0);
    expect(edges.invocations.length).toBeLessThan(20);
  });
});

describe("the largest requests that the contract allows", () => {
  test.each(["v2", "connect-json", "binary"] as const)(
    "[identities] a mebibyte with the most values that a body may have: %s",
    async (edge) => {
      const filler = Array<string>(99_990).fill("abcdefg");
      const bare = JSON.stringify({ a: [...filler, ""] }).length;
      for (const [length, status] of [
        [1_048_576, 200],
        [1_048_576 + 1, 400],
      ] as const) {
        const meta = { a: [...filler, "x".repeat(length - bare)] };
        await using edges = await startEdges();
        const request = { externalId: "x", meta };
        const body =
          edge === "binary"
            ? Buffer.from(toBinary(CreateIdentityRequestSchema, create(CreateIdentityRequestSchema, request)))
            : Buffer.from(JSON.stringify(request));
        const path = edge === "v2" ? "/v2/identities.createIdentity" : "/latchkey.v2.IdentitiesService/CreateIdentity";
        const response = await post(edges, path, contentTypes[edge], body);
        expect([length, response.status]).toEqual([length, status]);
        const [invocation] = edges.invocations;
        const received = invocation?.message as unknown as { meta: object } | undefined;
        if (status === 200) expect(textOf(received?.meta ?? {})).toBe(JSON.stringify(meta));
        else expect(invocation?.violations[0]?.message).toContain("1048576");
      }
    },
  );

  test("[protocol §3] white space, escapes and numbers of metadata are compact in what is kept", async () => {
    await using edges = await startEdges();
    const meta = ' { "a" : [ 1.0 , 1e3, -0, "\\u0041\\/\\ud83d\\ude00" , "\\ud800" ] , "é" : { } }';
    const body = `{"externalId":"x","meta":${meta}${" ".repeat(10_000)}}`;
    await post(edges, "/v2/identities.createIdentity", "application/json", Buffer.from(body));
    const received = edges.invocations[0]?.message as unknown as { meta: object };
    expect(textOf(received.meta)).toBe(JSON.stringify(JSON.parse(meta)));
  });

  test("[protocol §3] the last of several properties of one name counts, with its violations", async () => {
    await using edges = await startEdges();
    const body = `{"externalId":5,"meta":{"a":1},"externalId":"x","meta":{"b":1,"b":2}${" ".repeat(10_000)}}`;
    expect((await post(edges, "/v2/identities.createIdentity", "application/json", Buffer.from(body))).status).toBe(200);
    const received = edges.invocations[0]?.message as unknown as { meta: object; externalId: string };
    expect([received.externalId, JSON.parse(textOf(received.meta))]).toEqual(["x", { b: 2 }]);
  });
});

describe("large answers", () => {
  const meta = `{"a":[${"1,".repeat(sized(50_000, 524_200))}1],"deep":${"[".repeat(20)}${"]".repeat(20)},"text":"é\\u0000😀"}`;
  const identity = (i: number) => ({ id: `id_${i}`, externalId: "x", meta: jsonText(meta) });
  const answer = { data: Array.from({ length: 6 }, (_, i) => identity(i)), pagination: { hasMore: false } };

  test("[identities] a page of identities with large metadata is written in parts, on every edge", async () => {
    await using edges = await startEdges({ invoke: () => answer });
    const response = await post(edges, "/v2/identities.listIdentities", "application/json", Buffer.from("{}"));
    expect((await response.text()).split(`"meta":${meta}`)).toHaveLength(7);

    for (const transport of [
      createConnectTransport({ baseUrl: edges.url, httpVersion: "1.1" }),
      createConnectTransport({ baseUrl: edges.url, httpVersion: "1.1", useBinaryFormat: true }),
      createGrpcTransport({ baseUrl: edges.url }),
    ]) {
      const client = createClient(IdentitiesService, transport);
      const { data } = await client.listIdentities({}, { headers: { authorization: "Bearer lkr_x" } });
      expect(data.map(({ id, meta: received }) => [id, JSON.stringify(received) === meta])).toEqual(
        answer.data.map(({ id }) => [id, true]),
      );
    }
  });
});
