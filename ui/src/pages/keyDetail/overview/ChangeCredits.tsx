import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { KeysService } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { useMutation } from "../../../data/hooks/useMutation.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../../design/dialogs/Dialog.tsx";
import { Form } from "../../../design/forms/Form.tsx";
import { RadioGroup } from "../../../design/forms/RadioGroup.tsx";
import { TextField } from "../../../design/forms/TextField.tsx";
import { announce } from "../../../design/states/announcements.ts";
import { Diff } from "../../../design/values/Diff.tsx";
import type { KeyTabProps } from "../useKey.ts";
import { type CreditsDraft, creditsChanges, creditsProblem, creditsRequest } from "./creditsChange.ts";

const operations = [
  { value: "set", label: "Set to" },
  { value: "increment", label: "Add" },
  { value: "decrement", label: "Subtract" },
  { value: "unlimited", label: "Unlimited credits, and no refill" },
] as const;

/** Sets the balance, adds to it, subtracts from it or lifts it. Shows every field that changes before it is saved. */
export const ChangeCredits = ({ stored, etag, onClose }: KeyTabProps & { readonly onClose: () => void }): JSX.Element => {
  const [draft, setDraft] = useState<CreditsDraft>({ operation: "set", amount: "" });
  const [seen] = useState(etag);
  const update = useMutation(KeysService.method.updateCredits);
  const problem = creditsProblem(stored.credits, draft);
  const changes = creditsChanges(stored.credits, draft);
  const request = creditsRequest(stored.keyId, draft);
  const submit = async (): Promise<void> => {
    if (problem !== undefined || (await update.run(request, seen)) === undefined) return;
    announce("Saved.");
    onClose();
  };
  return (
    <Dialog title="Change balance" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={update.error}
        fields={["operation", "value"]}
        actions={
          <>
            <Button kind="primary" type="submit" pending={update.pending} disabledBecause={problem}>
              Save changes
            </Button>
            <CodeDrawer method={update.method} request={request} />
          </>
        }
      >
        <RadioGroup
          label="Operation"
          name="operation"
          value={draft.operation}
          options={operations}
          onChange={(operation) => setDraft({ ...draft, operation })}
        />
        {draft.operation !== "unlimited" && (
          <TextField
            label="Amount"
            name="value"
            value={draft.amount}
            onChange={(amount) => setDraft({ ...draft, amount })}
            error={draft.amount === "" && stored.credits !== undefined ? undefined : problem}
            hint={draft.operation === "set" ? undefined : "Credits spent in the meantime count as well."}
            required
            autofocus
          />
        )}
        {changes.length === 0 ? <p class="quiet">{problem ?? "Nothing changes."}</p> : <Diff changes={changes} />}
      </Form>
    </Dialog>
  );
};
