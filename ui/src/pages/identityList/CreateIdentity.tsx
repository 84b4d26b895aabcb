import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { IdentitiesService } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { type LimitDraft, limitsReadable, readLimits } from "../../data/drafts/limitDraft.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { identityPath } from "../../data/identityPath.ts";
import { readJsonObject } from "../../data/readInput.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { LimitsField } from "../../design/forms/LimitsField.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { announce } from "../../design/states/announcements.ts";
import { navigate } from "../../router/address.ts";

/** Makes an identity and goes to its page. */
export const CreateIdentity = ({ onClose }: { readonly onClose: () => void }): JSX.Element => {
  const [externalId, setExternalId] = useState("");
  const [metaText, setMeta] = useState("");
  const [limits, setLimits] = useState<readonly LimitDraft[]>([]);
  const create = useMutation(IdentitiesService.method.createIdentity);
  const meta = readJsonObject(metaText);
  const request = { externalId, ...(meta === undefined || meta === "invalid" ? {} : { meta }), ratelimits: readLimits(limits) };
  const submit = async (): Promise<void> => {
    if (meta === "invalid" || !limitsReadable(limits)) return;
    const answer = await create.run(request);
    if (answer?.message.data === undefined) return;
    announce(`Created ${externalId}.`);
    onClose();
    navigate(identityPath({ id: answer.message.data.identityId, externalId }));
  };
  return (
    <Dialog title="New identity" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={create.error}
        fields={["externalId", "meta", "ratelimits"]}
        actions={
          <>
            <Button kind="primary" type="submit" pending={create.pending}>
              Create identity
            </Button>
            <CodeDrawer method={create.method} request={request} />
          </>
        }
      >
        <TextField
          label="External ID"
          name="externalId"
          value={externalId}
          onChange={setExternalId}
          hint="Your own name for the user or organisation. It cannot be changed."
          required
          autofocus
        />
        <TextField
          label="Meta"
          name="meta"
          rows={3}
          value={metaText}
          onChange={setMeta}
          error={meta === "invalid" ? "A JSON object, or nothing." : undefined}
          hint="A JSON object. Verifications return it."
        />
        <LimitsField name="ratelimits" value={limits} onChange={setLimits} />
      </Form>
    </Dialog>
  );
};
