import type { MessageInitShape } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { CreditOperation, KeysService, type UpdateCreditsRequestSchema } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { MAX_CREDITS } from "../../../../../src/domain/refill.ts";
import { useMutation } from "../../../data/hooks/useMutation.ts";
import { readInteger } from "../../../data/readInput.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../../design/dialogs/Dialog.tsx";
import { Form } from "../../../design/forms/Form.tsx";
import { RadioGroup } from "../../../design/forms/RadioGroup.tsx";
import { TextField } from "../../../design/forms/TextField.tsx";
import { announce } from "../../../design/states/announcements.ts";
import { Diff } from "../../../design/values/Diff.tsx";
import { balanceText } from "../keyChanges.ts";
import type { KeyTabProps } from "../useKey.ts";

const operations = [
  { value: "set", label: "Set to" },
  { value: "increment", label: "Add" },
  { value: "decrement", label: "Subtract" },
] as const;

type Operation = (typeof operations)[number]["value"];

const operationOf: Readonly<Record<Operation, CreditOperation>> = {
  set: CreditOperation.SET,
  increment: CreditOperation.INCREMENT,
  decrement: CreditOperation.DECREMENT,
};

/** What the service makes of a balance; undefined: unlimited. */
const balanceAfter = (operation: Operation, before: bigint | undefined, value: bigint | undefined): bigint | undefined => {
  if (operation === "set") return value;
  const sum = (before ?? 0n) + (operation === "increment" ? 1n : -1n) * (value ?? 0n);
  if (sum < 0n) return 0n;
  return sum > BigInt(MAX_CREDITS) ? BigInt(MAX_CREDITS) : sum;
};

/** Sets the balance, adds to it or takes from it. */
export const ChangeCredits = ({ stored, etag, onClose }: KeyTabProps & { readonly onClose: () => void }): JSX.Element => {
  const [operation, setOperation] = useState<Operation>("set");
  const [typed, setTyped] = useState("");
  const [seen] = useState(etag);
  const update = useMutation(KeysService.method.updateCredits);
  const before = stored.credits?.remaining;
  const read = readInteger(typed);
  const value = read === "invalid" ? undefined : read;
  const problem = (): string | undefined => {
    if (read === "invalid") return "A whole number.";
    return operation !== "set" && before === undefined ? "The balance is unlimited: set it first." : undefined;
  };
  const request: MessageInitShape<typeof UpdateCreditsRequestSchema> = {
    keyId: stored.keyId,
    operation: operationOf[operation],
    value: { kind: value === undefined ? { case: "null", value: 0 } : { case: "value", value } },
  };
  const submit = async (): Promise<void> => {
    if (problem() !== undefined || (await update.run(request, seen)) === undefined) return;
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
            <Button kind="primary" type="submit" pending={update.pending}>
              Save changes
            </Button>
            <CodeDrawer method={update.method} request={request} />
          </>
        }
      >
        <RadioGroup label="Operation" name="operation" value={operation} options={operations} onChange={setOperation} />
        <TextField
          label="Amount"
          name="value"
          value={typed}
          onChange={setTyped}
          error={problem()}
          hint={operation === "set" ? "Empty: unlimited credits, and no refill." : "Verifications meanwhile count as well."}
          autofocus
        />
        <Diff
          changes={[
            {
              field: "credits.remaining",
              before: balanceText(before),
              after: balanceText(operation !== "set" && before === undefined ? undefined : balanceAfter(operation, before, value)),
            },
          ]}
        />
      </Form>
    </Dialog>
  );
};
