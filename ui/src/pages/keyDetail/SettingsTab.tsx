import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { limitDrafts, limitsText } from "../../data/drafts/limitDraft.ts";
import { refillDraft, refillText } from "../../data/drafts/refillDraft.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { localTimeText } from "../../data/readInput.ts";
import { Button } from "../../design/actions/Button.tsx";
import { ExpiryField } from "../../design/forms/ExpiryField.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { LimitsField } from "../../design/forms/LimitsField.tsx";
import { RefillField } from "../../design/forms/RefillField.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { ThreeState } from "../../design/forms/ThreeState.tsx";
import { ReviewKeyChange } from "./actions/ReviewKeyChange.tsx";
import { balanceText, timeText } from "./keyChanges.ts";
import { isUntouched, type KeyDraft, keyFields, requestOf, unreadable, untouched } from "./keyDraft.ts";
import { directPermissions } from "./permissionSources.ts";
import type { KeyTabProps } from "./useKey.ts";
import { useSources } from "./useSources.ts";

/** The name of a field that a draft has, with what is stored there in a few words. */
const shortened = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

/** All that a key may be changed to: keep, set or clear for each field, reviewed before it is saved. */
export const SettingsTab = ({ stored, api, etag, reload }: KeyTabProps): JSX.Element => {
  // The base of the form stays while it is edited, even when newer fields are read: the ETag is that of the base.
  const [seen, setSeen] = useState({ stored, etag });
  const [draft, setDraft] = useState(untouched);
  const [reviewing, setReviewing] = useState(false);
  const sources = useSources(stored);
  const direct = sources.data === undefined ? undefined : directPermissions(stored.permissions, sources.data);
  const update = useMutation(KeysService.method.updateKey);
  const { stored: key } = seen;
  const problems = unreadable(draft, Date.now());
  const untouchedForm = isUntouched(draft);
  useEffect(() => {
    // An untouched form follows what is read.
    if (untouchedForm && !reviewing) setSeen({ stored, etag });
  }, [stored, etag]);
  useEffect(() => {
    // The fields show the violations.
    if (update.error?.kind === "invalid") setReviewing(false);
  }, [update.error]);
  const begin = (): void => {
    setReviewing(false);
    setDraft(untouched);
    setSeen({ stored, etag });
  };

  /** Connects a group with its part of the draft. */
  const field = <Name extends keyof KeyDraft>(name: Name) => ({
    change: draft[name],
    onChange: (change: KeyDraft[Name]) => setDraft((before) => ({ ...before, [name]: change })),
  });
  const none = "none";
  const forbidden = missingReason(update.method, api === undefined ? {} : { api_id: api.id });
  const because = forbidden ?? (untouchedForm ? "Nothing is changed yet." : problems.expires);
  return (
    <>
      <Form
        onSubmit={() => {
          if (because !== undefined || Object.keys(unreadable(draft, Date.now())).length > 0) return;
          update.clear();
          setReviewing(true);
        }}
        error={reviewing ? undefined : update.error}
        fields={keyFields}
        actions={
          <Button kind="primary" type="submit" disabledBecause={because}>
            Save changes
          </Button>
        }
      >
        <ThreeState label="Name" name="name" {...field("name")} current={key.name ?? none} clear="No name" initial={key.name ?? ""}>
          {(value, set) => <TextField label="New name" name="name" value={value} onChange={set} />}
        </ThreeState>
        <ThreeState
          label="Identity"
          name="externalId"
          {...field("externalId")}
          current={key.identity?.externalId ?? none}
          clear="No identity"
          initial={key.identity?.externalId ?? ""}
        >
          {(value, set) => (
            <TextField
              label="External ID"
              name="externalId"
              value={value}
              onChange={set}
              hint="Your own name for the owner. An unknown one is created."
            />
          )}
        </ThreeState>
        <ThreeState
          label="Expires"
          name="expires"
          {...field("expires")}
          current={timeText(key.expires)}
          clear="Never expires"
          initial={key.expires === undefined ? "" : localTimeText(key.expires)}
        >
          {(value, set) => <ExpiryField label="Expiry" value={value} onChange={set} hint="In your time zone." />}
        </ThreeState>
        <ThreeState
          label="Credits"
          name="credits.remaining"
          {...field("remaining")}
          current={balanceText(key.credits?.remaining)}
          clear="Unlimited credits, and no refill"
          initial={key.credits === undefined ? "" : String(key.credits.remaining)}
        >
          {(value, set) => <TextField label="Balance" name="credits.remaining" value={value} onChange={set} error={problems.remaining} />}
        </ThreeState>
        {draft.remaining.kind !== "clear" && (
          <ThreeState
            label="Refill"
            name="credits.refill"
            {...field("refill")}
            current={key.credits?.refill === undefined ? none : refillText(key.credits.refill)}
            clear="No refill"
            initial={refillDraft(key.credits?.refill)}
          >
            {(value, set) => <RefillField name="credits.refill" value={value} onChange={set} />}
          </ThreeState>
        )}
        <ThreeState
          label="Rate limits"
          name="ratelimits"
          {...field("ratelimits")}
          current={key.ratelimits.length === 0 ? none : shortened(limitsText(key.ratelimits))}
          clear="No rate limits"
          initial={limitDrafts(key.ratelimits)}
        >
          {(value, set) => <LimitsField name="ratelimits" value={value} onChange={set} />}
        </ThreeState>
        <ThreeState
          label="Meta"
          name="meta"
          {...field("meta")}
          current={key.meta === undefined ? none : shortened(JSON.stringify(key.meta))}
          clear="No meta"
          initial={JSON.stringify(key.meta ?? {}, null, 2)}
        >
          {(value, set) => (
            <TextField label="JSON" name="meta" rows={6} value={value} onChange={set} error={problems.meta} hint="Replaced as a whole." />
          )}
        </ThreeState>
        <ThreeState
          label="Roles"
          name="roles"
          {...field("roles")}
          current={key.roles.length === 0 ? none : shortened(key.roles.join(", "))}
          clear="No roles"
          initial={key.roles.join("\n")}
        >
          {(value, set) => (
            <TextField label="Role names" name="roles" rows={3} value={value} onChange={set} hint="The complete list, one per line." />
          )}
        </ThreeState>
        {direct === undefined ? (
          <p class="quiet">
            Loading which permissions come from its roles. After that, the key's own permissions can be changed.
            {sources.error?.kind === "forbidden" && ` ${sources.error.message}`}
          </p>
        ) : (
          <ThreeState
            label="Permissions"
            name="permissions"
            {...field("permissions")}
            current={direct.length === 0 ? none : shortened(direct.join(", "))}
            clear="No permissions of its own"
            initial={direct.join("\n")}
          >
            {(value, set) => (
              <TextField
                label="Own permissions"
                name="permissions"
                rows={3}
                value={value}
                onChange={set}
                hint="The complete list, one per line, without those of its roles. Unknown ones are created."
              />
            )}
          </ThreeState>
        )}
      </Form>
      {reviewing && (
        <ReviewKeyChange
          stored={stored}
          etag={etag}
          reload={reload}
          seen={seen}
          direct={direct}
          update={update}
          request={requestOf(key.keyId, draft)}
          action="Save changes"
          done="Saved."
          onDone={() => {
            setReviewing(false);
            // Nothing is left to keep: what is read next is taken over.
            setDraft(untouched);
          }}
          onClose={() => setReviewing(false)}
          onTakeStored={begin}
        />
      )}
    </>
  );
};
