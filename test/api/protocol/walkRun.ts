import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Edge } from "../../../bench/harness/v2Edge.ts";
import { array_body, ignore_unknown, permission, permission_from_request } from "../../../gen/latchkey/v2/options_pb.ts";
import { systemSource } from "../../../src/features/audit/auditEvent.ts";
import { createRootKey, revokeRootKey } from "../../../src/features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository } from "../../../src/features/rootKeys/rootKeysRepository.ts";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { procedureName } from "../../../src/platform/rpc/procedureName.ts";
import { services } from "../../../src/service/services.ts";
import { type Api, dataOf, expectError, startApi, type TestEnvironment } from "../../support/api.ts";
import { bodyOf, createObjects, nothing, type Objects } from "../../support/bodies.ts";
import { expectEnvelope, type HttpAnswer, type HttpRequest, request } from "../../support/envelope.ts";
import { sizedEdges } from "../../support/sized.ts";
import { engines } from "../../support/stores.ts";

const methods = new Map<string, DescMethod>(
  services.flatMap((service) => service.methods.map((method): [string, DescMethod] => [procedureName(method), method])),
);
const methodOf = (procedure: string): DescMethod => {
  const method = methods.get(procedure);
  if (!method) throw new Error(`there is no procedure ${procedure}`);
  return method;
};

/** Lists that are empty for a caller who may read nothing. */
const listsWhatMayBeRead = ["apis.listApis", "keys.searchKeys", "ratelimit.listNamespaces", "rootKeys.listKeys"];

/** The permissions that every call of a procedure needs, as a 403 for a caller without any names them. */
const neededPermissions = (procedure: string): readonly string[] =>
  getOption(methodOf(procedure), permission)
    .filter((text) => /^\w+\./.test(text) && !text.includes(" when "))
    .map((text) => text.split(/[ ,]/, 1)[0]?.replace(/\{.*\}/, "*") ?? "");

/** A detail without the ids of one call's objects. */
const named = (detail: string, { apiId, rootKeyId }: Objects): string => detail.replaceAll(apiId, "API").replaceAll(rootKeyId, "ROOT_KEY");

/**
 * The rules that every procedure follows.
 * @param env settings of the service that make valid requests of these procedures succeed.
 */
export const walk = (procedures: readonly string[], env: TestEnvironment = {}): void => {
  describe.each(engines)("on $name", (engine) => {
    let api: Api;
    let objects: Objects;
    let powerless: string;
    /** Reasons and root keys that are refused for them. */
    let refused: readonly (readonly [string, string | undefined])[];

    const post = (procedure: string, options: HttpRequest): Promise<HttpAnswer> => request(api.url, procedure, options);
    const onEveryEdge = async (check: (edge: Edge) => Promise<void>): Promise<void> => {
      for (const edge of sizedEdges(api.edges)) await check(edge);
    };

    beforeAll(async () => {
      api = await startApi(engine, { env });
      const [v2] = api.edges;
      objects = await createObjects(async (procedure, body) =>
        dataOf((await v2?.call(procedure, body, api.rootKey)) ?? expect.unreachable()),
      );
      powerless = await api.createRootKey({ permissions: [] });

      const rootKeys = createRootKeysRepository(api.store);
      const revoked = await createRootKey(rootKeys, {}, systemSource(systemClock));
      await revokeRootKey(rootKeys, revoked.rootKeyId, systemSource(systemClock));
      refused = [
        ["missing", undefined],
        ["malformed", `Basic ${api.rootKey}`],
        ["key_not_found", "lkr_unknown"],
        ["key_not_found", objects.key],
        ["key_disabled", revoked.key.reveal()],
        ["key_expired", await api.createRootKey({ expires: systemClock.now() - 1 })],
      ];
    });
    afterAll(async () => {
      await api.close();
      await engine.close();
    });

    describe.each(procedures)("%s", (procedure) => {
      test("[protocol §7] refuses every root key that is no valid one, on every edge", async () => {
        await onEveryEdge(async (edge) => {
          for (const [reason, rootKey] of refused) {
            const answer = await edge.call(procedure, bodyOf(procedure, objects), rootKey);
            expectError(answer, 401, `unkey/authentication/${reason}`);
          }
        });
      });

      test("[protocol §1] accepts POST only", async () => {
        for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
          const answer = await post(procedure, { method, rootKey: api.rootKey });
          expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 405, "POST"]);
          if (method === "HEAD") expect(answer.text).toBe("");
          else expectError(answer, 405, "unkey/application/method_not_allowed");
        }
      });
    });

    describe.each(procedures)("%s", (procedure) => {
      const method = methodOf(procedure);
      const isArray = hasOption(method, array_body);

      test("[protocol §3] a body of another type is one violation at body", async () => {
        for (const body of ["null", "5", "true", '"text"', isArray ? "{}" : "[]", "", " ", "{", "{}x", "{'a':1}", "{/**/}", "NaN"]) {
          const answer = await post(procedure, { rootKey: api.rootKey, body });
          expectEnvelope(answer);
          const error = expectError(answer, 400, "unkey/application/invalid_input");
          expect([body, error.errors?.map(({ location }) => location)]).toEqual([body, ["body"]]);
        }
      });

      test("[protocol §1] a body of another content type is one violation at the header", async () => {
        for (const type of [undefined, "text/plain", "text/json", "application/x-www-form-urlencoded", "application/grpc"]) {
          const answer = await post(procedure, { rootKey: api.rootKey, body: {}, headers: { "content-type": type } });
          const error = expectError(answer, 400, "unkey/application/invalid_input");
          expect([type, error.errors?.map(({ location }) => location)]).toEqual([type, ["header.Content-Type"]]);
        }
      });

      test("[protocol §3] an unknown field is refused by its name, unless the procedure tolerates it", async () => {
        for (const name of ["unknownField", "__proto__", "constructor", "toString", "KEYID", "api_id", "requestId"]) {
          const valid = JSON.stringify(bodyOf(procedure, nothing));
          const body = valid.replace(/\{/, `{${JSON.stringify(name)}:1,`).replace(",}", "}");
          const answer = await post(procedure, { rootKey: powerless, body });
          if (getOption(method.input, ignore_unknown)) {
            expect([name, answer.status]).not.toEqual([name, 400]);
            continue;
          }
          const error = expectError(answer, 400, "unkey/application/invalid_input");
          const location = `body${isArray ? "[0]" : ""}.${name}`;
          expect(error.errors).toEqual([{ location, message: expect.stringContaining(`'${name}'`), fix: expect.any(String) }]);
        }
      });

      test("[protocol §8] a root key without permissions learns which one it lacks, and nothing else", async () => {
        await onEveryEdge(async (edge) => {
          const known = await edge.call(procedure, bodyOf(procedure, objects), powerless);
          if (listsWhatMayBeRead.includes(procedure)) {
            expect(dataOf(known)).toEqual([]);
            return;
          }
          if (procedure === "rootKeys.whoami") {
            expect(dataOf(known)).toMatchObject({ permissions: [] });
            return;
          }
          const denied = expectError(known, 403, "unkey/authorization/insufficient_permissions");
          for (const needed of neededPermissions(procedure)) expect(denied.detail).toContain(needed);

          const unknown = await edge.call(procedure, bodyOf(procedure, nothing), powerless);
          const keyed = procedure.startsWith("keys.") && "keyId" in bodyOf(procedure, nothing);
          const creates = procedure === "ratelimit.limit" || procedure === "ratelimit.multiLimit";
          if (keyed) expectError(unknown, 404, "unkey/data/key_not_found");
          else if (procedure.startsWith("ratelimit.") && !creates) expectError(unknown, 404, "unkey/data/ratelimit_namespace_not_found");
          else {
            const { detail } = expectError(unknown, 403, "unkey/authorization/insufficient_permissions");
            if (creates) expect(detail).toContain("ratelimit.*.create_namespace");
            else expect(named(detail, nothing)).toBe(named(denied.detail, objects));
          }
          expect(keyed && getOption(method, permission_from_request)).toBe(false);
        });
      });

      test("[protocol §5] a valid request is answered with a success envelope, on every edge", async () => {
        await onEveryEdge(async (edge) => {
          const own = await createObjects(async (name, body) => dataOf(await edge.call(name, body, api.rootKey)), [procedure]);
          const answer = await edge.call(procedure, bodyOf(procedure, own), api.rootKey);
          dataOf(answer);
          expectEnvelope(answer);
        });
      });
    });
  });
};
