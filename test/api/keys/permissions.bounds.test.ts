// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";

const procedures = [
  ["keys.addPermissions", "permissions", 1],
  ["keys.removePermissions", "permissions", 1],
  ["keys.setPermissions", "permissions", 0],
  ["keys.addRoles", "roles", 1],
  ["keys.removeRoles", "roles", 1],
  ["keys.setRoles", "roles", 0],
] as const;
type Field = (typeof procedures)[number][1];

/** Neither a slug nor a role name. */
const malformed: Readonly<Record<Field, readonly string[]>> = {
  permissions: ["", "a b", "a/b", "ä", "a\n", "p".repeat(129)],
  roles: ["", "r".repeat(129), "😀".repeat(129)],
};
const most: Readonly<Record<Field, number>> = { permissions: 1000, roles: 100 };

everywhere((run) => {
  /** Where the first violations are, each place once. */
  const placesOf = async (procedure: string, body: object): Promise<readonly string[]> => {
    const { errors } = expectError(await run.call(procedure, body), 400, "unkey/application/invalid_input");
    return [...new Set(errors?.map(({ location }) => location))];
  };

  describe.each(procedures)("%s", (procedure, field, fewest) => {
    test("[permissions §11] keyId and the list are required, and bounded", async () => {
      const { keyId } = await run.createKey();
      for (const wrong of [undefined, "ab", "k".repeat(256), "key-1", "key_1\n"]) {
        expect(await placesOf(procedure, { ...(wrong === undefined ? {} : { keyId: wrong }), [field]: ["ok1"] })).toEqual(["body.keyId"]);
      }
      expect(await placesOf(procedure, { keyId })).toEqual([`body.${field}`]);
      for (const item of malformed[field])
        expect(await placesOf(procedure, { keyId, [field]: ["ok1", item] })).toEqual([`body.${field}[1]`]);
      if (fewest > 0) expect(await placesOf(procedure, { keyId, [field]: [] })).toEqual([`body.${field}`]);
      else expect(await run.data(procedure, { keyId, [field]: [] })).toEqual([]);
    });

    if (run.edge !== "v2") return;
    test("[permissions §11] too many items, null, other types and unknown fields are 400; items are counted before they collapse", async () => {
      const { keyId } = await run.createKey();
      const other = field === "roles" ? "permissions" : "roles";
      for (const [place, fields] of [
        [field, { [field]: Array(most[field] + 1).fill("ok1") }],
        [field, { [field]: null }],
        [field, { [field]: "ok1" }],
        [field, { [field]: {} }],
        [`${field}[0]`, { [field]: [1] }],
        [`${field}[0]`, { [field]: [null] }],
        [`${field}[0]`, { [field]: [{ name: "ok1" }] }],
        [other, { [field]: ["ok1"], [other]: ["ok1"] }],
      ] as const) {
        expect(await placesOf(procedure, { keyId, ...fields })).toEqual([`body.${place}`]);
      }
    });
  });

  test("[permissions §11] 1000 permissions at once, of 1 to 128 characters", async () => {
    const stem = run.unique("m");
    const many = Array.from({ length: 1000 }, (_, i) => `${stem}.${String(i).padStart(4, "0")}`.padEnd(i % 129, "x").slice(0, 128));
    const { keyId, key } = await run.createKey();
    const slugsAfter = async (procedure: string, permissions: readonly string[]) =>
      ((await run.data(procedure, { keyId, permissions })) as unknown as { slug: string }[]).map(({ slug }) => slug);
    expect(await slugsAfter("keys.setPermissions", many)).toEqual(many.toSorted());
    expect(await slugsAfter("keys.removePermissions", many.slice(1))).toEqual(many.slice(0, 1));
    expect(await slugsAfter("keys.addPermissions", many)).toHaveLength(1000);
    expect(await run.verify(key, { permissions: `${many[0]} AND ${many[999]}` })).toMatchObject({ valid: true });
    expect(await slugsAfter("keys.setPermissions", ["*"])).toEqual(["*"]);
  });

  test("[permissions §11] 100 roles at once, of 1 to 128 characters", async () => {
    const stem = run.unique("r");
    const names = Array.from({ length: 100 }, (_, i) => `${stem} ${String(i).padStart(2, "0")}`.padEnd(128, "é"));
    for (const name of names) await run.data("permissions.createRole", { name });
    const { keyId } = await run.createKey();
    for (const procedure of ["keys.setRoles", "keys.addRoles"]) {
      expect(((await run.data(procedure, { keyId, roles: names })) as unknown as { name: string }[]).map(({ name }) => name)).toEqual(
        names,
      );
    }
    expect(await run.data("keys.removeRoles", { keyId, roles: names })).toEqual([]);
  });
});
