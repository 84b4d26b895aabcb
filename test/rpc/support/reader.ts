import type { Reader } from "../../../src/platform/codec/json/jsonForm.ts";

/** Somebody who waits for as long as it takes, and may take everything. */
export const patientReader: Reader = { path: ["rk_1"], signal: undefined, charge: () => undefined };
