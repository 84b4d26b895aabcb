import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type CallError, readCallError } from "../../data/calls/callError.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../actions/Button.tsx";
import { type Draft, isUntouched, rebasedDraft } from "../forms/draftChanges.ts";
import { Form } from "../forms/Form.tsx";
import { announce } from "../states/announcements.ts";
import type { Change } from "../values/Diff.tsx";
import { Conflict } from "./Conflict.tsx";
import { ReviewChanges } from "./ReviewChanges.tsx";

export interface ReviewedFormProps<Input extends DescMessage, Stored, Edited extends Draft> {
  readonly method: DescMethodUnary<Input, DescMessage>;
  /** The object as it was read, and its ETag. */
  readonly stored: Stored;
  readonly etag: string | undefined;
  /** Reads both again. */
  readonly reload: () => void;
  /** For an object without an ETag: reads it once more, right before it is saved, and says whether it is as it was. */
  readonly withoutEtag?: { readonly read: () => Promise<Stored>; readonly isSame: (one: Stored, other: Stored) => boolean };
  readonly draftOf: (stored: Stored) => Edited;
  readonly changesOf: (stored: Stored, draft: Edited) => readonly Change[];
  /** The call that makes these changes, and no others. */
  readonly requestOf: (stored: Stored, draft: Edited) => MessageInitShape<Input>;
  /** JSON names of its fields. */
  readonly fields: readonly string[];
  /** Why it cannot be saved: a permission, or what cannot be read in a field. */
  readonly disabledBecause?: (draft: Edited) => string | undefined;
  readonly onSaved?: () => void;
  readonly children: (draft: Edited, set: (change: Partial<Edited>) => void, stored: Stored) => ComponentChildren;
}

/** A form for a stored object: changes are reviewed before they are saved, and never overwrite another editor's (console §3). */
export const ReviewedForm = <Input extends DescMessage, Stored, Edited extends Draft>({
  method,
  stored,
  etag,
  reload,
  withoutEtag,
  draftOf,
  changesOf,
  requestOf,
  fields,
  disabledBecause,
  onSaved,
  children,
}: ReviewedFormProps<Input, Stored, Edited>): JSX.Element => {
  // The base of the form stays while it is edited, even when a newer version is read: the ETag is that of the base.
  const [base, setBase] = useState({ stored, etag });
  const [draft, setDraft] = useState(() => draftOf(stored));
  const [reviewing, setReviewing] = useState(false);
  const [other, setOther] = useState<Stored>();
  const [unread, setUnread] = useState<CallError>();
  const update = useMutation(method);
  const changes = changesOf(base.stored, draft);
  const begin = (next: { readonly stored: Stored; readonly etag: string | undefined }, edited: Edited): void => {
    update.clear();
    setOther(undefined);
    setBase(next);
    setDraft(edited);
  };
  // An untouched form follows what is read.
  useEffect(() => {
    if (isUntouched(draft, draftOf(base.stored))) begin({ stored, etag }, draftOf(stored));
  }, [stored, etag]);

  /** The version that another editor has stored since, for objects without an ETag. */
  const changedUnseen = async (): Promise<Stored | undefined> => {
    const now = await withoutEtag?.read();
    return now === undefined || withoutEtag?.isSame(now, base.stored) === true ? undefined : now;
  };
  const save = async (): Promise<void> => {
    try {
      const unseen = await changedUnseen();
      if (unseen !== undefined) {
        setReviewing(false);
        return setOther(unseen);
      }
    } catch (thrown) {
      setReviewing(false);
      return setUnread(readCallError(thrown));
    }
    const answer = await update.run(requestOf(base.stored, draft), base.etag);
    setReviewing(false);
    if (answer === undefined) return reload();
    // Nothing is left to keep: what is read next is taken over.
    setDraft(draftOf(base.stored));
    announce("Saved.");
    onSaved?.();
  };
  const changedMeanwhile = update.error?.kind === "changed";
  // The other version is there once it was read after the refusal.
  const foreign = other ?? (changedMeanwhile && etag !== base.etag ? stored : undefined);
  const mine = foreign === undefined ? draft : rebasedDraft(draft, draftOf(base.stored), draftOf(foreign));
  const next = (version: Stored) => ({ stored: version, etag });
  const reason = (): string | undefined => disabledBecause?.(draft) ?? (changes.length === 0 ? "Nothing is changed yet." : undefined);
  return (
    <>
      <Form
        onSubmit={() => {
          if (reason() !== undefined) return;
          update.clear();
          setUnread(undefined);
          setReviewing(true);
        }}
        error={unread ?? (changedMeanwhile ? undefined : update.error)}
        fields={fields}
        actions={
          <Button kind="primary" type="submit" disabledBecause={reason()}>
            Save changes
          </Button>
        }
      >
        {children(draft, (change) => setDraft((before) => ({ ...before, ...change })), base.stored)}
      </Form>
      {reviewing && (
        <ReviewChanges
          method={method}
          request={requestOf(base.stored, draft)}
          changes={changes}
          pending={update.pending}
          action="Save changes"
          onConfirm={() => void save()}
          onClose={() => setReviewing(false)}
        />
      )}
      {foreign !== undefined && (
        <Conflict
          changes={changesOf(foreign, mine)}
          onTakeStored={() => begin(next(foreign), draftOf(foreign))}
          onKeepMine={() => {
            begin(next(foreign), mine);
            setReviewing(true);
          }}
        />
      )}
    </>
  );
};
