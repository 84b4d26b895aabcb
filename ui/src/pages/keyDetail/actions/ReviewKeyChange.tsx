import type { MessageInitShape } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { UpdateKeyRequestSchema, UpdateKeyResponseSchema } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import type { Mutation } from "../../../data/hooks/useMutation.ts";
import { Conflict } from "../../../design/dialogs/Conflict.tsx";
import { ReviewChanges } from "../../../design/dialogs/ReviewChanges.tsx";
import { announce } from "../../../design/states/announcements.ts";
import { keyChanges } from "../keyChanges.ts";
import type { KeyTabProps } from "../useKey.ts";

export interface ReviewKeyChangeProps extends Pick<KeyTabProps, "stored" | "etag" | "reload"> {
  /** The base of the change: the version that the person saw. */
  readonly seen: Pick<KeyTabProps, "stored" | "etag">;
  /** The key's own permissions, as far as they are known. */
  readonly direct: readonly string[] | undefined;
  readonly update: Mutation<typeof UpdateKeyRequestSchema, typeof UpdateKeyResponseSchema>;
  readonly request: MessageInitShape<typeof UpdateKeyRequestSchema>;
  /** "Save changes". */
  readonly action: string;
  /** The message after success: "Saved." */
  readonly done: string;
  readonly onDone: () => void;
  /** Closes without saving. */
  readonly onClose: () => void;
  /** Takes the version that another editor has stored. Default: as `onClose`. */
  readonly onTakeStored?: () => void;
}

/** Reviews an update of a key and saves it. When the key has changed since, it shows both versions (console §3). */
export const ReviewKeyChange = (props: ReviewKeyChangeProps): JSX.Element | null => {
  const { stored, etag, reload, seen, direct, update, request, action, done, onDone, onClose, onTakeStored = onClose } = props;
  const [base, setBase] = useState(seen);
  const changedMeanwhile = update.error?.kind === "changed";
  const save = async (): Promise<void> => {
    if ((await update.run(request, base.etag)) === undefined) return reload();
    announce(done);
    onDone();
  };
  const close = (): void => {
    update.clear();
    onClose();
  };
  if (changedMeanwhile) {
    // The other version is there once it was read after the refusal.
    if (etag === base.etag) return null;
    return (
      <Conflict
        changes={keyChanges(stored, direct, request)}
        onTakeStored={() => {
          update.clear();
          onTakeStored();
        }}
        onKeepMine={() => {
          update.clear();
          setBase({ stored, etag });
        }}
      />
    );
  }
  return (
    <ReviewChanges
      method={update.method}
      request={request}
      changes={keyChanges(base.stored, direct, request)}
      pending={update.pending}
      error={update.error}
      action={action}
      onConfirm={() => void save()}
      onClose={close}
    />
  );
};
