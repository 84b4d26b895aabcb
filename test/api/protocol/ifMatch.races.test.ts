import { describe, expect, test } from "vitest";
import { dataOf } from "../../support/api.ts";
import { bodyOf } from "../../support/bodies.ts";
import {
  asking,
  createSubjects,
  exchange,
  expectRevisionDiffers,
  readerOf,
  readTagged,
  type Subjects,
  type Tagged,
} from "../../support/conditional.ts";
import { everywhere } from "../../support/everywhere.ts";
import { sized } from "../../support/sized.ts";

/** One comes through for each time that all of them have tried: of fifty that is more than a thousand calls. */
const UPDATERS = sized(25, 100);
const RIVALS = sized(6, 10);

/** Where the usual body would change nothing for those who come second. */
const rivalling: Readonly<Record<string, (subjects: Subjects, rival: number) => object>> = {
  "keys.addPermissions": ({ keyId }, i) => ({ keyId, permissions: [`rival.${keyId}.${i}`] }),
  "keys.setPermissions": ({ keyId }, i) => ({ keyId, permissions: [`rival.${keyId}.${i}`] }),
  "keys.addRoles": ({ keyId }, i) => ({ keyId, roles: [`rival.${keyId}.${i}`] }),
  "keys.setRoles": ({ keyId }, i) => ({ keyId, roles: [`rival.${keyId}.${i}`] }),
  "permissions.setRolePermissions": ({ role }, i) => ({ role, permissions: [`rival.${role}.${i}`] }),
  "identities.updateIdentity": ({ identity }, i) => ({ identity, meta: { rival: i } }),
};

everywhere(
  (run) => {
    /** Reads, changes and writes until no other writer interferes. Returns how often one did. */
    const update = async (
      i: number,
      read: () => Promise<Tagged>,
      write: (data: Record<string, unknown>, tag: string) => Promise<Tagged>,
    ) => {
      for (let refused = 0; ; refused++) {
        const found = await read();
        const answer = await write(dataOf(found), found.etag ?? expect.unreachable());
        if (answer.status === 200) return refused;
        expectRevisionDiffers(answer);
        if (refused > 50 * UPDATERS) expect.unreachable(`updater ${i} never comes through`);
      }
    };

    test("[management §2] updaters of one key that read, change and write with If-Match on two nodes lose nothing", async () => {
      const { keyId, key } = await run.createKey({ meta: { seen: [] }, credits: { remaining: 1_000 } });
      const nodes = [run.api, await run.other()];
      const verifications = Array.from({ length: RIVALS }, async () => {
        for (let i = 0; i < RIVALS; i++) await run.verify(key);
      });
      const updaters = run.edge === "v2" ? UPDATERS : RIVALS;
      await Promise.all(
        Array.from({ length: updaters }, (_, i) => {
          const node = nodes[i % 2] ?? run.api;
          return update(
            i,
            () => exchange(run, "keys.getKey", { keyId }, { node }),
            ({ meta }, ifMatch) => {
              const seen = [...(meta as { seen: number[] }).seen, i];
              return exchange(run, "keys.updateKey", { keyId, meta: { seen } }, { node, ifMatch });
            },
          );
        }),
      );
      await Promise.all(verifications);
      const { meta } = await run.getKey(keyId);
      expect([...(meta as { seen: number[] }).seen].sort((a, b) => a - b)).toEqual(Array.from({ length: updaters }, (_, i) => i));
    });

    test("[management §2] concurrent updates of an override never bring it back after one of them deletes it", async () => {
      const namespace = run.unique("namespace");
      const address = { namespace, identifier: "user" };
      await run.data("ratelimit.limit", { ...address, limit: 1, duration: 1_000 });
      for (let round = 0; round < 5; round++) {
        await run.data("ratelimit.setOverride", { ...address, limit: 0, duration: 1_000 });
        const nodes = [run.api, await run.other()];
        await Promise.all(
          Array.from({ length: RIVALS }, async (_, i) => {
            const node = nodes[i % 2] ?? run.api;
            if (i === RIVALS - 1) dataOf(await exchange(run, "ratelimit.deleteOverride", address, { node, ifMatch: "*" }));
            else await exchange(run, "ratelimit.setOverride", { ...address, limit: i, duration: 1_000 }, { node, ifMatch: "*" });
          }),
        );
        expect((await run.call("ratelimit.getOverride", address)).status).toBe(404);
      }
    });

    describe.each([...asking.keys()])("%s", (procedure) => {
      test("[management §2] exactly one of several concurrent calls with the same tag on two nodes succeeds", async () => {
        const subjects = await createSubjects(run, [procedure, readerOf(procedure)]);
        const rivalRoles = /^keys\..*Roles$/.test(procedure) ? RIVALS : 0;
        for (let i = 0; i < rivalRoles; i++) await run.data("permissions.createRole", { name: `rival.${subjects.keyId}.${i}` });
        const { tag } = await readTagged(run, readerOf(procedure), subjects);
        const nodes = [run.api, await run.other()];
        const answers = await Promise.all(
          Array.from({ length: RIVALS }, (_, i) => {
            const body = rivalling[procedure]?.(subjects, i) ?? bodyOf(procedure, subjects);
            return exchange(run, procedure, body, { ifMatch: tag, node: nodes[i % 2] ?? run.api });
          }),
        );
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
        for (const answer of answers) {
          if (answer.status === 200) continue;
          // Calls after a deletion find nothing.
          if (/delete/.test(procedure) && answer.status === 404) continue;
          expectRevisionDiffers(answer);
        }
      });

      test("[protocol §2] ten concurrent repeats of a call with an Idempotency-Key on two nodes run once and all get the answer", async () => {
        const subjects = await createSubjects(run, [procedure, readerOf(procedure)]);
        const { tag } = await readTagged(run, readerOf(procedure), subjects);
        const nodes = [run.api, await run.other()];
        const idempotencyKey = run.unique("key");
        const answers = await Promise.all(
          Array.from({ length: RIVALS }, (_, i) =>
            exchange(run, procedure, bodyOf(procedure, subjects), { ifMatch: tag, idempotencyKey, node: nodes[i % 2] ?? run.api }),
          ),
        );
        const [first] = answers.map(dataOf);
        for (const answer of answers) expect(dataOf(answer)).toEqual(first);
        expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
      });
    });
  },
  ["v2", "grpc"],
);
