// @same-on-every-engine
import { request } from "node:http";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { create, getOption, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ApisService, UpdateApiRequestSchema } from "../../../gen/latchkey/v2/apis_pb.ts";
import { changes } from "../../../gen/latchkey/v2/options_pb.ts";
import { procedureName } from "../../../src/platform/rpc/procedureName.ts";
import { frame } from "../../../src/platform/rpc/wire/frame.ts";
import { services } from "../../../src/service/services.ts";
import { dataOf, expectError } from "../../support/api.ts";
import { bodyOf, nothing } from "../../support/bodies.ts";
import {
  asking,
  createSubjects,
  exchange,
  expectBadIfMatch,
  expectRevisionDiffers,
  readerOf,
  readTagged,
  type Subjects,
  type Tagged,
} from "../../support/conditional.ts";
import { procedureNames } from "../../support/edges.ts";
import { everywhere, type Run } from "../../support/everywhere.ts";
import { failureOf, rpcTransports } from "../../support/rpcClients.ts";
import { everythingIn } from "../../support/written.ts";

const changing = services.flatMap(({ methods }) => methods.filter((method) => getOption(method, changes)).map(procedureName));
const unconditional = changing.filter((procedure) => !asking.has(procedure));

test("[management §2] every procedure that updates or deletes what can be read as one object asks for its revision", () => {
  // Creating an object changes nothing that was read; no procedure reads a namespace or a migration.
  const unasked = unconditional.filter((procedure) => !/\.(create|migrate)/.test(procedure));
  expect(unasked.sort()).toEqual(["migrations.deleteMigration", "ratelimit.deleteNamespace"]);
});

/** Everything that a refused call could have made or changed. */
const written = async ({ api: { store } }: Run): Promise<unknown> => {
  const living = { deletedAt: { $exists: false } } as const;
  const rootKeys = await store.collection("rootKeys").findFields([], living);
  const overrides = await store.collection("overrides").findFields([], living);
  return [await everythingIn(store), rootKeys.length, overrides.length];
};

const sender =
  (run: Run, procedure: string) =>
  (subjects: Subjects, ifMatch: string, more: object = {}): Promise<Tagged> =>
    exchange(run, procedure, bodyOf(procedure, subjects), { ifMatch, ...more });

everywhere((run) => {
  describe.each([...asking.keys()])("%s", (procedure) => {
    const send = sender(run, procedure);

    test("[management §2] refuses another revision than those that If-Match names, and changes nothing", async () => {
      const reader = readerOf(procedure);
      const subjects = await createSubjects(run, [procedure, reader]);
      const others = await createSubjects(run, [reader]);
      const before = await readTagged(run, reader, subjects);
      const { tag } = before;
      const { tag: foreign } = await readTagged(run, reader, others);
      for (const ifMatch of ['"stale"', foreign, `W/${tag}`, `${foreign}, W/${tag}`, '""', `"${tag.slice(1, -1).toLowerCase()}x"`]) {
        expectRevisionDiffers(await send(subjects, ifMatch));
      }
      for (const ifMatch of [...(run.edge === "v2" ? [""] : []), tag.slice(1, -1), `*, ${tag}`, `${tag} ${tag}`])
        expectBadIfMatch(await send(subjects, ifMatch));
      expect(await readTagged(run, reader, subjects)).toEqual(before);
    });

    test("[management §2] succeeds once with the revision that If-Match names", async () => {
      const reader = readerOf(procedure);
      const subjects = await createSubjects(run, [procedure, reader]);
      const { tag } = await readTagged(run, reader, subjects);
      const first = await send(subjects, tag, { node: await run.other() });
      dataOf(first);
      expect(first.etag).toBeNull();
      const second = await send(subjects, tag);
      if (/delete/.test(procedure)) expect(second.status).toBe(404);
      // A list that is set to what it is already changes nothing, so that the tag still holds.
      else if (!/add|setRoles|setRolePermissions/.test(procedure)) expectRevisionDiffers(second);
    });
  });

  test.each(unconditional)("[management §2] %s refuses the header, as what it changes has no revision", async (procedure) => {
    const subjects = await createSubjects(run, [procedure]);
    for (const ifMatch of ["*", '"tag"', "malformed"]) {
      expectBadIfMatch(await exchange(run, procedure, bodyOf(procedure, subjects), { ifMatch }));
    }
  });

  test("[management §2] calls that change nothing ignore the header", async () => {
    const subjects = await createSubjects(run);
    for (const procedure of procedureNames.filter((name) => !changing.includes(name) && !name.startsWith("analytics."))) {
      for (const ifMatch of ['"stale"', "malformed"]) {
        expect([procedure, (await exchange(run, procedure, bodyOf(procedure, subjects), { ifMatch })).status]).toEqual([procedure, 200]);
      }
    }
  });

  test("[management §2] a malformed header is named among all that is wrong with the request", async () => {
    const answer = await exchange(
      run,
      "apis.updateApi",
      { apiId: "api_1234", name: "x" },
      { ifMatch: "tag", idempotencyKey: "k".repeat(256) },
    );
    const { errors } = expectError(answer, 400, "unkey/application/invalid_input");
    expect(errors?.map(({ location }) => location)).toEqual(["body.name", "header.Idempotency-Key", "header.If-Match"]);
  });

  test("[management §2] If-Match finds no revision of an override that does not exist, and makes none", async () => {
    const { namespace } = await createSubjects(run, ["ratelimit.setOverride"]);
    const body = { namespace, identifier: "nobody", limit: 1, duration: 1_000 };
    for (const ifMatch of ["*", '"tag"']) {
      for (const idempotencyKey of [undefined, run.unique("key")]) {
        expectRevisionDiffers(await exchange(run, "ratelimit.setOverride", body, { ifMatch, ...(idempotencyKey && { idempotencyKey }) }));
      }
    }
    expect((await run.call("ratelimit.getOverride", { namespace, identifier: "nobody" })).status).toBe(404);
  });

  test("[management §2] the tag of a deleted override holds for no other of the same identifier", async () => {
    const { namespace } = await createSubjects(run, ["ratelimit.setOverride"]);
    const address = { namespace, identifier: "again" };
    const body = { ...address, limit: 1, duration: 1_000 };
    await run.data("ratelimit.setOverride", body);
    const { etag } = await exchange(run, "ratelimit.getOverride", address);
    await run.data("ratelimit.deleteOverride", address);
    await run.data("ratelimit.setOverride", body);
    expectRevisionDiffers(await exchange(run, "ratelimit.setOverride", body, { ifMatch: etag ?? "" }));
    expectRevisionDiffers(await exchange(run, "ratelimit.deleteOverride", address, { ifMatch: etag ?? "" }));
  });

  test("[management §2] a refused call makes no permission, identity or key that it names", async () => {
    const subjects = await createSubjects(run);
    const before = await written(run);
    const { keyId, role } = subjects;
    for (const [procedure, body] of [
      ["keys.updateKey", { keyId, permissions: [run.unique("new")], externalId: run.unique("new") }],
      ["keys.addPermissions", { keyId, permissions: [run.unique("new")] }],
      ["permissions.setRolePermissions", { role, permissions: [run.unique("new")] }],
      ["keys.rerollKey", { keyId, expiration: 0 }],
      ["rootKeys.rerollKey", { keyId: subjects.rootKeyId, expiration: 0 }],
    ] as const) {
      expectRevisionDiffers(await exchange(run, procedure, body, { ifMatch: '"stale"' }));
    }
    expect(await written(run)).toEqual(before);
    expect((await run.call("rootKeys.whoami", {}, subjects.rootKey)).status).toBe(200);
  });

  test("[management §2] a verification between reading and changing does not spoil the change", async () => {
    const { keyId, key } = await run.createKey({ credits: { remaining: 9 } });
    const { etag } = await exchange(run, "keys.getKey", { keyId });
    for (let i = 0; i < 3; i++) expect(await run.verify(key)).toMatchObject({ valid: true });
    dataOf(await exchange(run, "keys.updateKey", { keyId, name: "renamed" }, { ifMatch: etag ?? "" }));
    expect(await run.getKey(keyId)).toMatchObject({ name: "renamed", credits: { remaining: 6 } });
  });

  test("[management §2] a deletion protection that is read with its tag still counts", async () => {
    const apiId = await run.createApi();
    await run.data("apis.updateApi", { apiId, deleteProtection: true });
    const { etag } = await exchange(run, "apis.getApi", { apiId });
    for (const ifMatch of [etag ?? "", "*"]) {
      expectError(await exchange(run, "apis.deleteApi", { apiId }, { ifMatch }), 412, "unkey/application/protected_resource");
    }
    await run.data("apis.updateApi", { apiId, deleteProtection: false });
    expectRevisionDiffers(await exchange(run, "apis.deleteApi", { apiId }, { ifMatch: etag ?? "" }));
    dataOf(await exchange(run, "apis.deleteApi", { apiId }, { ifMatch: "*" }));
    expect((await run.call("apis.getApi", { apiId })).status).toBe(404);
  });

  test("[management §2] thousands of tags are read, and the one that counts is found at their end", async () => {
    const apiId = await run.createApi();
    const { etag } = await exchange(run, "apis.getApi", { apiId });
    const many = Array.from({ length: 1_500 }, (_, i) => `"${i}"`);
    expectRevisionDiffers(await exchange(run, "apis.updateApi", { apiId, name: "renamed" }, { ifMatch: many.join() }));
    dataOf(await exchange(run, "apis.updateApi", { apiId, name: "renamed" }, { ifMatch: [...many, etag].join() }));
  });
});

everywhere(
  (run) => {
    describe.each([...asking.keys()])("%s", (procedure) => {
      const send = sender(run, procedure);

      test("[management §2] succeeds with any of several tags, with *, and without the header", async () => {
        for (const make of [(tag: string) => `"other", ,${tag} ,W/"more"`, () => "*"]) {
          const subjects = await createSubjects(run, [procedure, readerOf(procedure)]);
          const { tag } = await readTagged(run, readerOf(procedure), subjects);
          dataOf(await send(subjects, make(tag)));
        }
        dataOf(await exchange(run, procedure, bodyOf(procedure, await createSubjects(run, [procedure]))));
      });

      test("[management §2] asks for the revision after credentials, input, permission and the object itself", async () => {
        const subjects = await createSubjects(run, [procedure, readerOf(procedure)]);
        const body = bodyOf(procedure, subjects);
        const stale = { ifMatch: '"stale"' };
        expect((await exchange(run, procedure, body, { ...stale, rootKey: "lkr_unknown" })).status).toBe(401);
        const tooLong = { ...stale, idempotencyKey: "k".repeat(256) };
        expectError(await exchange(run, procedure, body, tooLong), 400, "unkey/application/invalid_input");
        const powerless = await run.api.createRootKey({ permissions: [] });
        expect((await exchange(run, procedure, body, { ...stale, rootKey: powerless })).status).toBe(403);
        expect((await exchange(run, procedure, bodyOf(procedure, nothing), stale)).status).toBe(404);
        expect((await exchange(run, procedure, bodyOf(procedure, nothing), { ifMatch: "*" })).status).toBe(404);
      });

      test("[protocol §2] a repeat with an Idempotency-Key is answered as before, whatever the revision is by then", async () => {
        const subjects = await createSubjects(run, [procedure, readerOf(procedure)]);
        const { tag } = await readTagged(run, readerOf(procedure), subjects);
        const idempotencyKey = run.unique("key");
        expectRevisionDiffers(await send(subjects, '"stale"', { idempotencyKey }));
        const first = await send(subjects, tag, { idempotencyKey });
        const data = dataOf(first);
        for (const ifMatch of [tag, '"stale"']) {
          const repeat = await send(subjects, ifMatch, { idempotencyKey });
          expect([dataOf(repeat), repeat.replayed, repeat.etag]).toEqual([data, true, null]);
        }
        expectBadIfMatch(await send(subjects, "stale", { idempotencyKey }));
      });
    });
  },
  ["v2", "grpc"],
);

everywhere(
  (run) => {
    test("[management §2] characters beyond ASCII are characters of a tag that matches nothing", async () => {
      const apiId = await run.createApi();
      expectRevisionDiffers(await exchange(run, "apis.updateApi", { apiId, name: "renamed" }, { ifMatch: '"\u00e9\u00ff"' }));
      expectBadIfMatch(await exchange(run, "apis.updateApi", { apiId, name: "renamed" }, { ifMatch: "\u00e9" }));
    });

    test("[RFC 9110 §5.3] several If-Match fields are one list, and one that is too long for any header is refused as such", async () => {
      const apiId = await run.createApi();
      const { etag } = await exchange(run, "apis.getApi", { apiId });
      const statusOf = (...fields: readonly string[]) =>
        new Promise<number | undefined>((resolve, reject) => {
          const own = ["Host", new URL(run.api.url).host, "Content-Type", "application/json", "Authorization", `Bearer ${run.api.rootKey}`];
          const headers = [...own, ...fields.flatMap((field) => ["If-Match", field])];
          request(`${run.api.url}/v2/apis.updateApi`, { method: "POST", headers })
            .on("response", (response) => resolve(response.resume().statusCode))
            .on("error", reject)
            .end(JSON.stringify({ apiId, name: "renamed" }));
        });
      expect(await statusOf('"other"', "*")).toBe(400);
      expect(await statusOf('"other"', '"more"')).toBe(412);
      expect(await statusOf(`"${"x".repeat(40_000)}"`)).toBe(400);
      expect(await statusOf('"other"', etag ?? "")).toBe(200);
    });

    test("[management §2] /v2 over HTTP/2 answers with the tag and asks for it", async () => {
      const apiId = await run.createApi();
      const session = connect(run.api.url);
      const post = (procedure: string, body: object, headers: object = {}) =>
        new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
          const stream = session.request({
            ":method": "POST",
            ":path": `/v2/${procedure}`,
            "content-type": "application/json",
            authorization: `Bearer ${run.api.rootKey}`,
            ...headers,
          });
          let received: IncomingHttpHeaders = {};
          let text = "";
          stream.on("response", (head) => {
            received = head;
          });
          stream.on("data", (part) => {
            text += part;
          });
          stream.on("error", reject).on("end", () => resolve({ status: Number(received[":status"]), headers: received, text }));
          stream.end(JSON.stringify(body));
        });
      const { headers } = await post("apis.getApi", { apiId });
      expect(headers.etag).toMatch(/^"[A-Za-z0-9_-]{22}"$/);
      const renamed = { apiId, name: "renamed" };
      expect(await post("apis.updateApi", renamed, { "if-match": `"other", ${headers.etag}` })).toMatchObject({ status: 200 });
      const refused = await post("apis.updateApi", renamed, { "if-match": headers.etag });
      expect(refused.status).toBe(412);
      expect(JSON.parse(refused.text)).toMatchObject({ error: { status: 412, type: expect.stringMatching(/data\/precondition_failed$/) } });
      session.close();
    });

    test("[RFC 9110 §5.3] several If-Match fields are one list over HTTP/2, too, in JSON and gRPC", async () => {
      const apiId = await run.createApi();
      const session = connect(run.api.url, { strictSingleValueFields: false } as object);
      /** Status in HTTP, or of gRPC where there is one. */
      const post = (path: string, type: string, body: Uint8Array | string, tags: readonly string[]) =>
        new Promise<number>((resolve, reject) => {
          const fields = [
            ...[":method", "POST", ":path", path, ":scheme", "http", ":authority", "latchkey", "content-type", type, "te", "trailers"],
            ...["authorization", `Bearer ${run.api.rootKey}`, ...tags.flatMap((tag) => ["if-match", tag])],
          ];
          const stream = session.request(fields);
          let status = 0;
          const hear = (received: IncomingHttpHeaders) => {
            status = Number(received["grpc-status"] ?? received[":status"]);
          };
          stream
            .on("response", hear)
            .on("trailers", hear)
            .on("error", reject)
            .on("end", () => resolve(status));
          stream.resume().end(body);
        });
      const renamed = { apiId, name: "renamed" };
      const json = (...tags: string[]) => post("/v2/apis.updateApi", "application/json", JSON.stringify(renamed), tags);
      const bytes = frame(0, toBinary(UpdateApiRequestSchema, create(UpdateApiRequestSchema, renamed)));
      const grpc = (...tags: string[]) => post(`/${ApisService.typeName}/UpdateApi`, "application/grpc", bytes, tags);
      for (const [ask, ok, refused, invalid] of [
        [json, 200, 412, 400],
        [grpc, 0, Code.FailedPrecondition, Code.InvalidArgument],
      ] as const) {
        const { etag } = await exchange(run, "apis.getApi", { apiId });
        expect(await ask('"other"', '"more"')).toBe(refused);
        expect(await ask('"other"', "*")).toBe(invalid);
        expect(await ask('"other"', etag ?? "")).toBe(ok);
      }
      session.close();
    });

    test.each(Object.entries(rpcTransports))(
      "[management §2] over %s the tag is a header, and another revision is failed_precondition",
      async (_, open) => {
        const apiId = await run.createApi();
        const client = createClient(ApisService, open(run.api.url));
        const authorization = `Bearer ${run.api.rootKey}`;
        let tag = "";
        await client.getApi(
          { apiId },
          {
            headers: { authorization },
            onHeader: (headers) => {
              tag = headers.get("etag") ?? "";
            },
          },
        );
        expect(tag).toMatch(/^"[A-Za-z0-9_-]{22}"$/);
        const update = () => client.updateApi({ apiId, name: "renamed" }, { headers: { authorization, "if-match": tag } });
        await update();
        const { code, detail } = await failureOf(update());
        expect([code, detail.httpStatus]).toEqual(["failed_precondition", 412]);
        expect(Code.FailedPrecondition).toBe(9);
      },
    );

    test("[management §2] Connect says 400, its status of failed_precondition, in HTTP", async () => {
      const apiId = await run.createApi();
      const answer = await fetch(`${run.api.url}/latchkey.v2.ApisService/UpdateApi`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${run.api.rootKey}`, "if-match": '"stale"' },
        body: JSON.stringify({ apiId, name: "renamed" }),
      });
      expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ code: "failed_precondition" })]);
    });
  },
  ["v2"],
);
