import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ApiSchema } from "../../gen/latchkey/v2/apis_pb.ts";
import { ViolationSchema } from "../../gen/latchkey/v2/errors_pb.ts";
import { readInteger, readList, readLocalTime } from "../../ui/src/data/readInput.ts";
import { keep, nullable } from "../../ui/src/design/forms/fieldChange.ts";
import { violationsAt, violationsElsewhere, violationText } from "../../ui/src/design/forms/formErrors.ts";
import { changesOf, draftOf, rebased, requestOf } from "../../ui/src/pages/apiDetail/settingsDraft.ts";

const violation = (location: string) => create(ViolationSchema, { location, message: "is wrong", fix: "Mend it." });

test("[console §3] violations appear at their fields", () => {
  const all = [violation("body.name"), violation("body.credits.remaining"), violation("body.ipAllowlist[2]"), violation("header.If-Match")];
  expect(violationsAt(all, "name").map(({ location }) => location)).toEqual(["body.name"]);
  expect(violationsAt(all, "credits.remaining")).toHaveLength(1);
  expect(violationsAt(all, "credits")).toHaveLength(1);
  expect(violationsAt(all, "ipAllowlist")).toHaveLength(1);
  expect(violationsAt(all, "ip")).toEqual([]);
  expect(violationsElsewhere(all, ["name", "credits.remaining", "ipAllowlist"]).map(({ location }) => location)).toEqual([
    "header.If-Match",
  ]);
  expect(violationText(violation("body.ipAllowlist[2]"), "ipAllowlist")).toBe("[2]: is wrong Mend it.");
});

test("[console §3] a nullable field is kept, set or cleared", () => {
  expect(nullable(keep)).toBeUndefined();
  expect(nullable({ kind: "clear" })).toEqual({ kind: { case: "null", value: 0 } });
  expect(nullable({ kind: "set", value: 3n })).toEqual({ kind: { case: "value", value: 3n } });
});

test("[console §3] 64-bit numbers are exact", () => {
  expect(readInteger("9,007,199,254,740,993")).toBe(9007199254740993n);
  expect(readInteger(" ")).toBeUndefined();
  expect(readInteger("1.5")).toBe("invalid");
});

test("dates that are half typed are none", () => {
  expect(readLocalTime("2026-11-23T04:05")).toBe(BigInt(new Date("2026-11-23T04:05").getTime()));
  expect(readLocalTime("")).toBeUndefined();
});

test("lists are read by line or comma", () => {
  expect(readList("a, b\n\n c ")).toEqual(["a", "b", "c"]);
});

const api = create(ApiSchema, { id: "api_1", name: "payments", ipAllowlist: ["192.0.2.0/24"] });

test("[console §3] a form sends what was changed and nothing else", () => {
  expect(changesOf(api, draftOf(api))).toEqual([]);
  const draft = { ...draftOf(api), name: "billing", ipAllowlist: { kind: "clear" } as const };
  expect(requestOf(api, draft)).toEqual({ apiId: "api_1", name: "billing", ipAllowlist: { kind: { case: "null", value: 0 } } });
  expect(changesOf(api, draft)).toEqual([
    { field: "name", before: "payments", after: "billing" },
    { field: "ipAllowlist", before: "192.0.2.0/24", after: "every address" },
  ]);
});

test("[console §3] rebased on another editor's change, only the fields that this form changed differ from the stored ones", () => {
  const stored = create(ApiSchema, { ...api, deleteProtection: true });
  const mine = rebased({ ...draftOf(api), name: "billing" }, api, stored);
  expect(changesOf(stored, mine)).toEqual([{ field: "name", before: "payments", after: "billing" }]);
});
