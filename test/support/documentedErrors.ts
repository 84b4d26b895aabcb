import { expect } from "vitest";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { procedures, reasonsOfEveryCall } from "../../docs/build/descriptors.ts";
import { reasons } from "../../src/platform/base/errors.ts";

const documented = new Map(
  procedures.map(({ name, errors }) => [name, new Set([...reasonsOfEveryCall, ...errors].map((reason) => reasons[reason].type))]),
);

/**
 * Fails the test when a procedure answers an error that its reference page does not name. Errors that do not come from a procedure
 * (another address, another method, a form of the call that gRPC does not have) are ignored.
 */
export const expectDocumented = (procedure: string, { body: { error } }: Answer): void => {
  if (error === undefined) return;
  const types = documented.get(procedure);
  const type = error.type.split("/errors/").at(-1) ?? "";
  if (
    types === undefined ||
    types.has(type) ||
    ["method_not_allowed", "procedure_not_found", "not_implemented"].some((name) => type.endsWith(name))
  )
    return;
  expect.unreachable(`${procedure} answered ${type}, which docs/build/procedureErrors.ts does not name: ${error.detail}`);
};
