import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Override, RatelimitService } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { call } from "../../../data/calls/call.ts";
import { type CallError, readCallError } from "../../../data/calls/callError.ts";
import { useMutation } from "../../../data/hooks/useMutation.ts";
import { readDuration } from "../../../data/readInput.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Conflict } from "../../../design/dialogs/Conflict.tsx";
import { ReviewChanges } from "../../../design/dialogs/ReviewChanges.tsx";
import { DurationField } from "../../../design/forms/DurationField.tsx";
import { Form } from "../../../design/forms/Form.tsx";
import { TextField } from "../../../design/forms/TextField.tsx";
import { announce } from "../../../design/states/announcements.ts";
import type { NamespaceNames } from "../readNamespace.ts";
import { MatchPreviewView } from "./MatchPreviewView.tsx";
import { changesOf, draftOf, limitProblem, type OverrideDraft, valuesOf } from "./overrideDraft.ts";
import type { SeenIdentifiers } from "./seenIdentifiers.ts";

/** The stored override of an identifier with its ETag. Without an override there is neither. */
export interface StoredOverride {
  readonly override?: Override | undefined;
  readonly etag?: string | undefined;
}

export interface OverrideFormProps {
  readonly namespace: NamespaceNames;
  readonly overrides: readonly Override[];
  readonly seen: SeenIdentifiers;
  readonly initial: OverrideDraft;
  /** The edited override. Undefined: a new one, looked up before the review, since setting replaces (ratelimit §8). */
  readonly edited: StoredOverride | undefined;
  /** It was set, or there is nothing left to edit. */
  readonly onDone: () => void;
}

const { getOverride, setOverride } = RatelimitService.method;

const readStored = async (namespace: string, identifier: string): Promise<StoredOverride> => {
  try {
    const { message, etag } = await call(getOverride, { namespace, identifier });
    return { override: message.data, etag };
  } catch (thrown) {
    if (readCallError(thrown).kind === "notFound") return {};
    throw thrown;
  }
};

/** Sets an override: it is previewed while typed, reviewed before it is saved, and never overwrites another editor's change. */
export const OverrideForm = ({ namespace, overrides, seen, initial, edited, onDone }: OverrideFormProps): JSX.Element => {
  const [draft, setDraft] = useState(initial);
  const [base, setBase] = useState<StoredOverride>(edited ?? {});
  const [stage, setStage] = useState<"edit" | "review" | "conflict">("edit");
  const [touched, setTouched] = useState(false);
  const [lookedUp, setLookedUp] = useState<CallError>();
  const save = useMutation(setOverride);
  const request = { namespace: namespace.id, ...valuesOf(draft) };
  const changes = changesOf(base.override, draft);
  const set = (name: keyof OverrideDraft) => (value: string) => setDraft((before) => ({ ...before, [name]: value }));

  /** Reads the stored override and continues with it. */
  const lookUp = async (next: "review" | "conflict"): Promise<void> => {
    try {
      setBase(await readStored(namespace.id, draft.identifier));
      setLookedUp(undefined);
      setStage(next);
    } catch (thrown) {
      setLookedUp(readCallError(thrown));
    }
  };
  const submit = async (): Promise<void> => {
    setTouched(true);
    save.clear();
    if (limitProblem(draft) !== undefined || typeof readDuration(draft.duration) !== "bigint") return;
    if (edited === undefined) return lookUp("review");
    if (changes.length > 0) setStage("review");
  };
  const confirm = async (): Promise<void> => {
    // First, so that the form has the focus for what the service finds wrong.
    setStage("edit");
    const answer = await save.run(request, base.etag);
    if (answer !== undefined) {
      announce(`Set the override of ${draft.identifier}.`);
      onDone();
    }
  };
  const changedMeanwhile = save.error?.kind === "changed";
  useEffect(() => {
    if (changedMeanwhile) void lookUp("conflict");
  }, [save.error]);
  const action = edited === undefined ? "Set override" : "Save changes";
  const nothing = edited !== undefined && changes.length === 0 ? "Nothing is changed yet." : undefined;
  return (
    <>
      <Form
        onSubmit={() => void submit()}
        error={lookedUp ?? (changedMeanwhile ? undefined : save.error)}
        fields={["identifier", "limit", "duration"]}
        actions={
          <>
            <Button kind="primary" type="submit" pending={save.pending} disabledBecause={nothing}>
              {action}
            </Button>
            <CodeDrawer method={setOverride} request={request} />
          </>
        }
      >
        {edited === undefined ? (
          <TextField
            label="Identifier"
            name="identifier"
            value={draft.identifier}
            onChange={set("identifier")}
            hint="A literal identifier, or a pattern: * matches any characters."
            required
            autofocus
          />
        ) : (
          <p>
            Override of <code>{draft.identifier}</code>
          </p>
        )}
        <div class="field-row">
          <TextField
            label="Limit"
            name="limit"
            value={draft.limit}
            onChange={set("limit")}
            error={touched ? limitProblem(draft) : undefined}
            hint="0 blocks."
            required
            autofocus={edited !== undefined}
          />
          <DurationField label="Duration" name="duration" value={draft.duration} onChange={set("duration")} />
        </div>
        <MatchPreviewView text={draft.identifier} overrides={overrides} seen={seen} />
      </Form>
      {stage === "review" && (
        <ReviewChanges
          method={setOverride}
          request={request}
          changes={changes}
          pending={save.pending}
          action={action}
          onConfirm={() => void confirm()}
          onClose={() => setStage("edit")}
        />
      )}
      {stage === "conflict" && (
        <Conflict
          changes={changes}
          onTakeStored={() => {
            if (base.override === undefined) return onDone();
            setDraft(draftOf(base.override));
            save.clear();
            setStage("edit");
          }}
          onKeepMine={() => {
            save.clear();
            setStage("review");
          }}
        />
      )}
    </>
  );
};
