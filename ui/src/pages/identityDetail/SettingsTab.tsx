import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Identity } from "../../../../gen/latchkey/v2/common_pb.ts";
import { IdentitiesService } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { limitDrafts, newLimit } from "../../data/drafts/limitDraft.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { readJsonObject } from "../../data/readInput.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { ConfirmName } from "../../design/dialogs/ConfirmName.tsx";
import { ReviewedForm } from "../../design/dialogs/ReviewedForm.tsx";
import { LimitsField } from "../../design/forms/LimitsField.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { ThreeState } from "../../design/forms/ThreeState.tsx";
import { announce } from "../../design/states/announcements.ts";
import { navigate } from "../../router/address.ts";
import { changesOf, draftOf, metaText, problemIn, requestOf, sharedLimits } from "./identityDraft.ts";
import { SharedLimits } from "./SharedLimits.tsx";

const { updateIdentity, deleteIdentity } = IdentitiesService.method;

export interface SettingsTabProps {
  readonly identity: Identity;
  readonly etag: string | undefined;
  readonly reload: () => void;
}

const DeleteIdentity = ({ identity, etag }: Omit<SettingsTabProps, "reload">): JSX.Element => {
  const [open, setOpen] = useState(false);
  const remove = useMutation(deleteIdentity);
  const request = { identity: identity.id };
  const confirm = async (): Promise<void> => {
    if ((await remove.run(request, etag)) === undefined) return;
    announce(`Deleted ${identity.externalId}.`);
    navigate("/ui/identities");
  };
  return (
    <section class="section" aria-labelledby="delete-identity">
      <h2 id="delete-identity">Delete this identity</h2>
      <p>Its keys go on without it: they lose its meta and its shared limits at once.</p>
      <div class="actions">
        <Button kind="danger" onClick={() => setOpen(true)} disabledBecause={missingReason(deleteIdentity, {})}>
          Delete
        </Button>
        <CodeDrawer method={deleteIdentity} request={request} />
      </div>
      {open && (
        <ConfirmName
          title="Delete identity"
          name={identity.externalId}
          action="Delete"
          pending={remove.pending}
          error={remove.error}
          onConfirm={() => void confirm()}
          onClose={() => setOpen(false)}
        >
          <p>An identity of the same name that is made later does not get its keys back.</p>
        </ConfirmName>
      )}
    </section>
  );
};

/** Shared limits and meta of an identity, and its end. */
export const SettingsTab = ({ identity, etag, reload }: SettingsTabProps): JSX.Element => (
  <>
    <ReviewedForm
      method={updateIdentity}
      stored={identity}
      etag={etag}
      reload={reload}
      draftOf={draftOf}
      changesOf={changesOf}
      requestOf={requestOf}
      fields={["ratelimits", "meta"]}
      disabledBecause={(draft) => missingReason(updateIdentity, {}) ?? problemIn(draft)}
    >
      {(draft, set, stored) => (
        <>
          <ThreeState
            label="Shared limits"
            name="ratelimits"
            change={draft.ratelimits}
            onChange={(ratelimits) => set({ ratelimits })}
            current={sharedLimits(stored.ratelimits)}
            clear="No limits"
            initial={stored.ratelimits.length === 0 ? [newLimit] : limitDrafts(stored.ratelimits)}
          >
            {(limits, change) => <LimitsField name="ratelimits" value={limits} onChange={change} />}
          </ThreeState>
          <ThreeState
            label="Meta"
            name="meta"
            change={draft.meta}
            onChange={(meta) => set({ meta })}
            current={metaText(stored.meta)}
            clear="No meta"
            initial={stored.meta === undefined ? "{}" : JSON.stringify(stored.meta, null, 2)}
          >
            {(text, change) => (
              <TextField
                label="New meta"
                name="meta"
                rows={8}
                value={text}
                onChange={change}
                error={typeof readJsonObject(text) !== "object" ? "A JSON object." : undefined}
                hint="Replaced as a whole, never merged."
              />
            )}
          </ThreeState>
        </>
      )}
    </ReviewedForm>
    {identity.ratelimits.length > 0 && <SharedLimits identity={identity} />}
    <DeleteIdentity identity={identity} etag={etag} />
  </>
);
