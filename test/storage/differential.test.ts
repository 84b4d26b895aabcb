import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { sized } from "../support/sized.ts";
import { engines } from "../support/stores.ts";
import { observe, steps } from "./operations.ts";
import { createOracle } from "./oracle.ts";

/** A server takes about a millisecond for each operation. */
const runs = { embedded: sized(150, 300), mongo: 40 } as const;

describe.each(engines)("random programs on the $name store", (engine) => {
  afterAll(() => engine.close());

  test("show what another implementation of MongoDB's language shows", async () => {
    const keys = (await engine.open()).collection("keys");
    await fc.assert(
      fc.asyncProperty(steps, async (program) => {
        expect(await observe(keys, program)).toEqual(await observe(createOracle(), program));
      }),
      { numRuns: runs[engine.name] },
    );
  });
});
