import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ConsoleService } from "../../gen/latchkey/console/v1/console_pb.ts";
import { ApisService } from "../../gen/latchkey/v2/apis_pb.ts";
import { KeysService } from "../../gen/latchkey/v2/keys_pb.ts";
import { RatelimitService } from "../../gen/latchkey/v2/ratelimit_pb.ts";
import { bodyOf, procedureName, script, snippet } from "../../ui/src/data/code/snippets.ts";

const { createKey } = KeysService.method;
const { updateApi, createApi } = ApisService.method;
const origin = "http://localhost:3000";

test("[console §3] the body of a call is what /v2 takes: null removes, what is unset is left out, integers are numbers", () => {
  const request = create(createKey.input, {
    apiId: "api_1",
    expires: 9007199254740991n,
    credits: { remaining: { kind: { case: "null", value: 0 } }, refill: { interval: 2, amount: 10n, refillDay: 1n } },
    roles: ["a"],
    meta: { plan: "pro", nested: [1, null] },
    enabled: false,
  });
  expect(bodyOf({ method: createKey, request })).toEqual({
    apiId: "api_1",
    expires: 9007199254740991,
    credits: { remaining: null, refill: { interval: "monthly", amount: 10, refillDay: 1 } },
    roles: ["a"],
    meta: { plan: "pro", nested: [1, null] },
    enabled: false,
  });
  const list = create(updateApi.input, { apiId: "api_1", ipAllowlist: { kind: { case: "value", value: { values: ["::1"] } } } });
  expect(bodyOf({ method: updateApi, request: list })).toEqual({ apiId: "api_1", ipAllowlist: ["::1"] });
});

test("[protocol §3] a body that is an array is one", () => {
  const { multiLimit } = RatelimitService.method;
  const request = create(multiLimit.input, { entries: [{ namespace: "a", identifier: "b", limit: 1n, duration: 1000n }] });
  expect(bodyOf({ method: multiLimit, request })).toEqual([{ namespace: "a", identifier: "b", limit: 1, duration: 1000 }]);
});

test("[console §2.9] snippets say $ROOT_KEY and hold no secret", () => {
  const method = ConsoleService.method.signIn;
  const request = create(method.input, { rootKey: "lkr_secret" });
  for (const language of ["curl", "grpcurl", "TypeScript"] as const) {
    const text = snippet(language, { method, request }, origin);
    expect(text).not.toContain("lkr_secret");
    expect(text).toContain(language === "TypeScript" ? "process.env.ROOT_KEY" : "$ROOT_KEY");
  }
  expect(request.rootKey).toBe("lkr_secret");
});

test("[console §3] a shell reads nothing in what a person typed", () => {
  const request = create(createApi.input, { name: 'it\'s $(rm -rf) `x` \\ "y"' });
  expect(snippet("curl", { method: createApi, request }, origin)).toBe(
    `curl -X POST http://localhost:3000/v2/apis.createApi \\\n  -H "Authorization: Bearer $ROOT_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d '{"name":"it'\\''s $(rm -rf) \`x\` \\\\ \\"y\\""}'`,
  );
});

test("[console §3] grpcurl names the service's port, and asks in cleartext only without TLS", () => {
  const call = { method: createApi, request: create(createApi.input, { name: "payments" }) };
  expect(snippet("grpcurl", call, "https://keys.example")).toMatch(
    /^grpcurl \\.* keys\.example:443 \\\n {2}latchkey\.v2\.ApisService\/CreateApi$/s,
  );
  expect(snippet("grpcurl", call, origin)).toMatch(/^grpcurl -plaintext .* localhost:3000 /s);
});

test("[console §3] grpcurl gets a null of ours by its name, and one of a person's metadata as it is", () => {
  const request = create(createKey.input, {
    apiId: "api_1",
    credits: { remaining: { kind: { case: "null", value: 0 } } },
    meta: { null: null, nested: [{ null: null }] },
  });
  const text = snippet("grpcurl", { method: createKey, request }, origin);
  expect(text).toContain('"credits":{"remaining":{"null":"NULL_VALUE"}}');
  expect(text).toContain('"meta":{"null":null,"nested":[{"null":null}]}');
});

test("[console §3] the calls of a session are a script that stops at the first one that fails", () => {
  const call = { method: createApi, request: create(createApi.input, { name: "payments" }) };
  expect(script([call, call], origin).match(/^curl --fail-with-body -X POST/gm)).toHaveLength(2);
  expect(script([call], origin)).toMatch(/^#!\/bin\/sh\nset -eu\n/);
});

test("procedures have the names of /v2", () => {
  expect(procedureName(createKey)).toBe("keys.createKey");
});
