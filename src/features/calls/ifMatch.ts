import type { Violation } from "../../platform/base/errors.ts";
import { createPrecondition, type Precondition, parseIfMatch } from "../../platform/base/revisions.ts";

/** What a call asks of the object that it changes, or why that cannot be told; neither where it asks nothing. */
interface IfMatch {
  readonly precondition?: Precondition;
  readonly violation?: Violation;
}

const location = "header.If-Match";

const nothing: IfMatch = {};

const unheeded: IfMatch = {
  violation: { location, message: "what this procedure changes has no revision", fix: "Leave the header out." },
};

const malformed: IfMatch = {
  violation: {
    location,
    message: "want *, or entity tags with commas between them",
    fix: "Send the ETag that the object was read with, its quotes included, or leave the header out.",
  },
};

/**
 * Reads the header `If-Match` of a call that changes something (management §2). A procedure whose object has no revision
 * refuses it: passed over in silence it would overwrite what the caller wanted to keep. To calls that change nothing it means
 * nothing, as an Idempotency-Key does.
 *
 * @param isConditional the procedure has the option `if_match`.
 */
export const readIfMatch = (header: string | undefined, isConditional: boolean): IfMatch => {
  if (header === undefined) return nothing;
  if (!isConditional) return unheeded;
  const matched = parseIfMatch(header);
  return matched === undefined ? malformed : { precondition: createPrecondition(matched) };
};
