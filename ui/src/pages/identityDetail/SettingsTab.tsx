import type { JSX } from "preact";
import type { Identity } from "../../../../gen/latchkey/v2/common_pb.ts";
import { IdentitiesService } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { limitDrafts, newLimit } from "../../data/drafts/limitDraft.ts";
import { readJsonObject } from "../../data/readInput.ts";
import { ReviewedForm } from "../../design/dialogs/ReviewedForm.tsx";
import { LimitsField } from "../../design/forms/LimitsField.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { ThreeState } from "../../design/forms/ThreeState.tsx";
import { DeleteIdentity } from "./DeleteIdentity.tsx";
import { changesOf, draftOf, metaText, problemIn, requestOf, sharedLimits } from "./identityDraft.ts";
import { SharedLimits } from "./SharedLimits.tsx";

const { updateIdentity } = IdentitiesService.method;

export interface SettingsTabProps {
  readonly identity: Identity;
  readonly etag: string | undefined;
  readonly reload: () => void;
}

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
