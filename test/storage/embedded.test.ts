// @same-on-every-engine
import { engines } from "../support/stores.ts";
import { testStore } from "./contract.ts";

for (const engine of engines) if (engine.name === "embedded") testStore(engine);
