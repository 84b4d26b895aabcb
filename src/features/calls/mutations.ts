import type { ServiceError } from "../../platform/base/errors.ts";
import type { RevisedObject } from "../../platform/base/revisions.ts";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { DuplicateKeyError } from "../../platform/storage/port/errors.ts";
import { type Modification, type Modify, type Revised, updated } from "../../platform/storage/repositories/shared/modify.ts";
import type { Change } from "../idempotency/mutation.ts";
import { type Call, isOwnWrite } from "./call.ts";

/**
 * The ways in which a procedure writes. It checks everything that refuses the call with 403 or 404, then calls one of these, which
 * do the rest in the order of protocol §2: the Idempotency-Key, `If-Match`, the write with its audit events, the answer.
 */

type MakeError = () => ServiceError | Promise<ServiceError>;

/** The error to throw for the error of a write: `taken` if another object has the value of a unique field. */
const mapTaken = (error: unknown, taken: MakeError | undefined): unknown =>
  taken !== undefined && error instanceof DuplicateKeyError ? taken() : error;

interface Creation<A extends object, P> extends Change {
  readonly answer: A;
  /** Creates other objects that this one refers to. */
  readonly prepare?: () => Promise<P>;
  readonly events: readonly AuditEvent[] | ((prepared: P) => readonly AuditEvent[]);
  /** The error if another object has the value of a unique field. */
  readonly taken?: MakeError;
}

/** Creates an object under an id of `call.newId`. */
export const create = <A extends object, P>(
  call: Call,
  { collection, id, answer, prepare, events, taken }: Creation<A, P>,
  insert: (events: readonly AuditEvent[], prepared: P) => Promise<unknown>,
): Promise<A> =>
  call.perform({
    change: { collection, id },
    expected: answer,
    write: async (mark) => {
      const prepared = (await prepare?.()) as P;
      const marked = mark(typeof events === "function" ? events(prepared) : events);
      try {
        await insert(marked, prepared);
      } catch (error) {
        if (!isOwnWrite(error, call)) throw await mapTaken(error, taken);
      }
    },
    answer: () => answer,
  });

interface ObjectChange<D extends Revised, A extends object, P> extends Pick<Change, "collection"> {
  readonly modify: Modify<D>;
  /** The object as it was looked up. */
  readonly found: D;
  /** The error if it was deleted since. */
  readonly gone: MakeError;
  /** Creates other objects that the change refers to. */
  readonly prepare?: () => Promise<P>;
  /** The answer, or how it follows from the object after the change. */
  readonly answer: A | ((after: D) => A | Promise<A>);
  /** A repeat may not find the object by what the request calls it, so the answer is also worked out before the write. */
  readonly renames?: true;
  /** The error if another object has the new value of a unique field. */
  readonly taken?: MakeError;
}

type Decision<D> = Modification<D> | undefined;

/**
 * Changes an object. `decide` returns what to write by the object as it is at that moment, undefined = nothing. It has no effects: it
 * runs again if the object was changed before the write.
 */
export const change = async <D extends Revised, A extends object, P>(
  call: Call,
  { collection, modify, found, gone, prepare, answer, renames, taken }: ObjectChange<D, A, P>,
  decide: (current: D, prepared: P) => Decision<D> | Promise<Decision<D>>,
): Promise<A> => {
  const answerFor = async (after: D): Promise<A> => (typeof answer === "function" ? answer(after) : answer);
  const foresee = async (): Promise<A> => {
    const decision = await decide(found, undefined as P);
    return answerFor(decision === undefined ? found : updated(found, decision.update));
  };
  return call.perform({
    change: { collection, id: found._id },
    found,
    expected: typeof answer === "function" ? renames && (await foresee()) : answer,
    write: async (mark) => {
      const prepared = (await prepare?.()) as P;
      const decideMarked = async (current: D): Promise<Decision<D>> => {
        const decision = await decide(current, prepared);
        return decision && { ...decision, events: mark(decision.events) };
      };
      const after = await modify(found._id, decideMarked, call).catch(async (error) => {
        throw await mapTaken(error, taken);
      });
      if (after === null) throw await gone();
      return after;
    },
    written: found,
    answer: answerFor,
  });
};

interface Removal extends Omit<Change, "id"> {
  /** The object as it was looked up. */
  readonly found: RevisedObject;
  /** The error if there is nothing to delete any more. */
  readonly gone: MakeError;
  readonly event: AuditEvent;
}

const nothing = { data: {} };

/** Deletes an object. `write` resolves to false if there is nothing to delete any more. */
export const remove = (
  call: Call,
  { found, gone, event, ...at }: Removal,
  write: (events: readonly AuditEvent[]) => Promise<boolean>,
): Promise<typeof nothing> =>
  call.perform({
    change: { ...at, id: found._id },
    found,
    expected: nothing,
    write: async (mark) => {
      if (!(await write(mark([event])))) throw await gone();
    },
    answer: () => nothing,
  });

/**
 * Makes a change of several writes. `write` can be run again after it was interrupted anywhere: under ids of `call.newId` it finds what it wrote.
 * @param found what `If-Match` is checked against beforehand; left out if the header has no meaning, or `write` checks it
 */
export const changeSeveral = <A extends object>(call: Call, write: () => Promise<A>, found?: RevisedObject | null): Promise<A> =>
  call.perform({ found, write, answer: (answer) => answer });
