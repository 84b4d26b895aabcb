import type { Reader } from "../../../src/platform/codec/json/jsonForm.ts";

/** A reader without a deadline or a memory limit. */
export const patientReader: Reader = { path: ["rk_1"], signal: undefined, charge: () => undefined };
