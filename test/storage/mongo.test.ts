import { expect, test } from "vitest";
import { engines } from "../support/stores.ts";
import { testStore } from "./contract.ts";

const engine = engines.find(({ name }) => name === "mongo");
if (engine !== undefined) testStore(engine);
else {
  // A run that confirms a release must include this engine.
  if (process.env.CI === "true") test("MONGODB_URL names a server", () => expect(process.env.MONGODB_URL).toBeDefined());
  else test.skip("the mongo store: MONGODB_URL is not set", () => undefined);
}
