import { describe, expect, test } from "vitest";
import type { Call } from "../../src/features/calls/call.ts";
import { claimRevision } from "../../src/features/calls/claimRevision.ts";
import { createPrecondition, tagOf } from "../../src/platform/base/revisions.ts";
import type { RootKeyDocument } from "../../src/platform/storage/port/documents.ts";
import type { Modify } from "../../src/platform/storage/repositories/shared/modify.ts";

type Found = RootKeyDocument;

const found = { _id: "rk_old", revision: 3 } as Found;
const copy = { id: "rk_new", exists: async () => false };

/** A store whose object is `current` at the time of the claim; it records the writes. */
const storeWith = (current: Found): { readonly modify: Modify<Found>; readonly written: unknown[] } => {
  const written: unknown[] = [];
  const modify: Modify<Found> = async (_, decide, options) => {
    options?.precondition?.ensure(current);
    const change = await decide(current);
    if (change !== undefined) written.push(change.update);
    return current;
  };
  return { modify, written };
};

const callFor = (object: Found): Call =>
  ({
    repeatable: true,
    precondition: createPrecondition(new Set([tagOf(object)])),
    signal: new AbortController().signal,
  }) as unknown as Call;

describe("[management §2] a call that makes a copy under If-Match", () => {
  test("claims the revision that it found", async () => {
    const { modify, written } = storeWith(found);
    expect(await claimRevision(modify, found, copy, callFor(found))).toBe(true);
    expect(written).toEqual([{ $set: { copyId: copy.id } }]);
  });

  test("continues where another run of the call has claimed that revision since the read", async () => {
    const { modify, written } = storeWith({ ...found, revision: 4, copyId: copy.id });
    expect(await claimRevision(modify, found, copy, callFor(found))).toBe(true);
    expect(written).toEqual([]);
  });

  test("ends with 412 where another caller changed it", async () => {
    const { modify, written } = storeWith({ ...found, revision: 4, copyId: "rk_another" });
    await expect(claimRevision(modify, found, copy, callFor(found))).rejects.toMatchObject({ reason: "revision_differs" });
    expect(written).toEqual([]);
  });
});
