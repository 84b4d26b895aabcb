import { afterAll, beforeAll, describe } from "vitest";
import type { Counters } from "../../src/platform/storage/port/counters.ts";
import { engines } from "../support/stores.ts";
import { testCounters } from "./contract/counters.ts";

describe.each(engines)("the counters of the $name store", (engine) => {
  let counters: Counters;
  beforeAll(async () => {
    ({ counters } = await engine.open());
  });
  afterAll(() => engine.close());

  testCounters(() => counters);
});
