import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import type { CallError } from "../../data/calls/callError.ts";
import { bodyOf } from "../../data/code/snippets.ts";
import { Button } from "../actions/Button.tsx";
import { ErrorNote } from "../states/ErrorNote.tsx";
import { CodeBlock } from "../values/CodeBlock.tsx";
import { type Change, Diff } from "../values/Diff.tsx";
import { CodeDrawer } from "./CodeDrawer.tsx";
import { Dialog } from "./Dialog.tsx";

export interface ReviewChangesProps<Input extends DescMessage> {
  readonly method: DescMethodUnary<Input, DescMessage>;
  readonly request: MessageInitShape<Input>;
  /** The changed fields. */
  readonly changes: readonly Change[];
  readonly pending: boolean;
  /** Why the last attempt failed, where no form behind says it. */
  readonly error?: CallError | undefined;
  /** "Save changes". */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Shows before → after and the exact body before saving (console §3). The form behind shows errors at its fields. */
export const ReviewChanges = <Input extends DescMessage>({
  method,
  request,
  changes,
  pending,
  error,
  action,
  onConfirm,
  onClose,
}: ReviewChangesProps<Input>): JSX.Element => (
  <Dialog title="Before → after" onClose={onClose}>
    <Diff changes={changes} />
    <h3>The body</h3>
    <CodeBlock label="The body" text={JSON.stringify(bodyOf({ method, request: create(method.input, request) }), null, 2)} />
    {error !== undefined && <ErrorNote error={error} />}
    <div class="actions">
      <Button kind="primary" pending={pending} onClick={onConfirm} autofocus>
        {action}
      </Button>
      <CodeDrawer method={method} request={request} />
    </div>
  </Dialog>
);
