import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Api, ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { Conflict } from "../../design/dialogs/Conflict.tsx";
import { ReviewChanges } from "../../design/dialogs/ReviewChanges.tsx";
import { Checkbox } from "../../design/forms/Checkbox.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { ThreeState } from "../../design/forms/ThreeState.tsx";
import { announce } from "../../design/states/announcements.ts";
import { anyAddress, changesOf, draftOf, rebased, requestOf } from "./settingsDraft.ts";

export interface SettingsFormProps {
  readonly api: Api;
  readonly etag: string | undefined;
  /** Reads API and ETag again. */
  readonly reload: () => void;
}

/** The settings of an API: changes are reviewed before they are saved, and never overwrite another editor's. */
export const SettingsForm = ({ api, etag, reload }: SettingsFormProps): JSX.Element => {
  // The base of the form stays while it is edited, even when newer settings are read: the ETag is that of the base.
  const [base, setBase] = useState({ api, etag });
  const [draft, setDraft] = useState(() => draftOf(api));
  const [reviewing, setReviewing] = useState(false);
  const update = useMutation(ApisService.method.updateApi);
  const changes = changesOf(base.api, draft);
  const request = requestOf(base.api, draft);
  const begin = (next: typeof draft): void => {
    update.clear();
    setBase({ api, etag });
    setDraft(next);
  };
  // An untouched form follows what is read.
  useEffect(() => {
    if (changes.length === 0 && draft.ipAllowlist.kind === "keep") begin(draftOf(api));
  }, [api, etag]);

  const save = async (): Promise<void> => {
    const answer = await update.run(request, base.etag);
    setReviewing(false);
    if (answer === undefined) return reload();
    // Nothing is left to keep: what is read next is taken over.
    setDraft(draftOf(base.api));
    announce("Saved.");
  };
  const changedMeanwhile = update.error?.kind === "changed";
  // The other version is there once it was read after the refusal.
  const stored = changedMeanwhile && etag !== base.etag;
  const mine = rebased(draft, base.api, api);
  const forbidden = missingReason(update.method, { api_id: api.id });
  return (
    <>
      <Form
        onSubmit={() => {
          if (changes.length === 0 || forbidden !== undefined) return;
          update.clear();
          setReviewing(true);
        }}
        error={changedMeanwhile ? undefined : update.error}
        fields={["name", "deleteProtection", "ipAllowlist"]}
        actions={
          <Button
            kind="primary"
            type="submit"
            disabledBecause={forbidden ?? (changes.length === 0 ? "Nothing is changed yet." : undefined)}
          >
            Save changes
          </Button>
        }
      >
        <TextField label="Name" name="name" value={draft.name} onChange={(name) => setDraft({ ...draft, name })} required />
        <Checkbox
          label="Delete protection"
          name="deleteProtection"
          checked={draft.deleteProtection}
          onChange={(deleteProtection) => setDraft({ ...draft, deleteProtection })}
          hint="The API cannot be deleted while this is on."
        />
        <ThreeState
          label="Allowed addresses"
          name="ipAllowlist"
          change={draft.ipAllowlist}
          onChange={(ipAllowlist) => setDraft({ ...draft, ipAllowlist })}
          current={base.api.ipAllowlist.length === 0 ? anyAddress : base.api.ipAllowlist.join(", ")}
          clear="Allow every address"
          initial={base.api.ipAllowlist.join("\n")}
        >
          {(value, set) => (
            <TextField
              label="Addresses and networks"
              name="ipAllowlist"
              rows={4}
              value={value}
              onChange={set}
              hint="One per line: 192.0.2.1, 2001:db8::/32. Keys of this API can be verified from these addresses only."
            />
          )}
        </ThreeState>
      </Form>
      {reviewing && (
        <ReviewChanges
          method={update.method}
          request={request}
          changes={changes}
          pending={update.pending}
          action="Save changes"
          onConfirm={() => void save()}
          onClose={() => setReviewing(false)}
        />
      )}
      {stored && (
        <Conflict
          changes={changesOf(api, mine)}
          onTakeStored={() => begin(draftOf(api))}
          onKeepMine={() => {
            begin(mine);
            setReviewing(true);
          }}
        />
      )}
    </>
  );
};
