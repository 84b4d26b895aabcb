import { expect } from "vitest";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { procedures, reasonsOfEveryCall } from "../../docs/build/descriptors.ts";
import { reasons } from "../../src/platform/base/errors.ts";

const documented = new Map(
  procedures.map(({ name, errors }) => [name, new Set([...reasonsOfEveryCall, ...errors].map((reason) => reasons[reason].type))]),
);

/**
 * Fails the test when a procedure answers an error that its page in the reference does not name. What is no answer of a procedure
 * (another address, another method, a form of the call that gRPC does not have) is not looked at.
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
