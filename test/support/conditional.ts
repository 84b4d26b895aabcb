import { getOption } from "@bufbuild/protobuf";
import { expect } from "vitest";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { etag, if_match } from "../../gen/latchkey/v2/options_pb.ts";
import { procedureName } from "../../src/platform/rpc/procedureName.ts";
import { services } from "../../src/service/services.ts";
import { type Api, dataOf, expectError } from "./api.ts";
import { bodyOf, createObjects, nothing, type Objects } from "./bodies.ts";
import { procedureNames } from "./edges.ts";
import type { Run } from "./everywhere.ts";

const withOption = (option: typeof etag): ReadonlyMap<string, string> =>
  new Map(
    services
      .flatMap(({ methods }) => methods)
      .map((method): [string, string] => [procedureName(method), getOption(method, option)])
      .filter(([, object]) => object !== ""),
  );

/** The procedures that show an object's revision, and those that ask for it, with what it is the revision of. */
export const showing: ReadonlyMap<string, string> = withOption(etag);
export const asking: ReadonlyMap<string, string> = withOption(if_match);

/** Objects for each procedure to change; `rootKey` is the secret of `rootKeyId`. */
export interface Subjects extends Objects {
  readonly rootKey: string;
}

/** @param procedures makes those only that these procedures have to do with. */
export const createSubjects = async (run: Run, procedures: readonly string[] = procedureNames): Promise<Subjects> => {
  const ofRootKeys = (procedure: string): boolean => procedure.startsWith("rootKeys.");
  const objects = await createObjects(
    run.data,
    procedures.filter((procedure) => !ofRootKeys(procedure)),
  );
  if (objects.keyId !== nothing.keyId) {
    // Objects for the procedures that remove something.
    await run.data("keys.addPermissions", { keyId: objects.keyId, permissions: [objects.permission, run.unique("kept")] });
    await run.data("keys.addRoles", { keyId: objects.keyId, roles: [objects.role] });
  }
  if (!procedures.some(ofRootKeys)) return { ...objects, rootKey: "" };
  const { keyId: rootKeyId, key: rootKey } = await run.data("rootKeys.createKey", { permissions: ["api.*.read_api"] });
  return { ...objects, rootKeyId: rootKeyId as string, rootKey: rootKey as string };
};

interface Sent {
  readonly ifMatch?: string;
  readonly idempotencyKey?: string;
  readonly rootKey?: string | undefined;
  readonly node?: Api;
}

export interface Tagged extends Answer {
  /** ETag of a success. */
  readonly etag: string | null;
  readonly replayed: boolean;
}

/** Calls over the run's edge, with the headers of conditional requests. */
export const exchange = async (run: Run, procedure: string, body: unknown, sent: Sent = {}): Promise<Tagged> => {
  const { ifMatch, idempotencyKey, node = run.api, rootKey = run.api.rootKey } = sent;
  const edge = node.edges.find(({ name }) => name === run.edge) ?? expect.unreachable();
  let seen = new Headers();
  const headers = {
    ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
  };
  const answer = await edge.call(procedure, body, rootKey, {
    headers,
    onHeaders: (received) => {
      seen = received;
    },
  });
  return { ...answer, etag: seen.get("etag"), replayed: seen.get("idempotency-replayed") === "true" };
};

/** Reads the object that a procedure shows. */
export const readTagged = async (
  run: Run,
  procedure: string,
  subjects: Subjects,
  node: Api = run.api,
): Promise<{ readonly data: Record<string, unknown>; readonly tag: string }> => {
  const rootKey = procedure === "rootKeys.whoami" ? subjects.rootKey : undefined;
  const answer = await exchange(run, procedure, bodyOf(procedure, subjects), { rootKey, node });
  // The reading is a use of that root key, which is noted some time after.
  const { lastUsedAt: _, ...unused } = dataOf(answer);
  const data = rootKey === undefined ? dataOf(answer) : unused;
  return { data, tag: answer.etag ?? expect.unreachable(`${procedure} answered without a tag`) };
};

/** The procedure that shows what another one changes. */
export const readerOf = (procedure: string): string => {
  const object = asking.get(procedure);
  return [...showing].find(([, shown]) => shown === object)?.[0] ?? expect.unreachable(`nothing shows what ${procedure} changes`);
};

export const expectRevisionDiffers = (answer: Answer): void => {
  const { title } = expectError(answer, 412, "unkey/data/precondition_failed");
  expect(title).toBe("Precondition Failed");
};

export const expectBadIfMatch = (answer: Answer): void => {
  const { errors, detail } = expectError(answer, 400, "unkey/application/invalid_input");
  expect(errors).toEqual([expect.objectContaining({ location: "header.If-Match" })]);
  expect(detail).toContain("If-Match");
};
