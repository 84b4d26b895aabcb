import type { MessageInitShape } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { RefillInterval } from "../../../../../gen/latchkey/v2/common_pb.ts";
import { CreditOperation, KeysService, type UpdateCreditsRequestSchema } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { instantAfter, MAX_CREDITS } from "../../../../../src/domain/refill.ts";
import { missingReason } from "../../../data/access/missingReason.ts";
import { refillText } from "../../../data/drafts/refillDraft.ts";
import { useMutation } from "../../../data/hooks/useMutation.ts";
import { useNow } from "../../../data/hooks/useNow.ts";
import { readInteger } from "../../../data/readInput.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../../design/dialogs/Dialog.tsx";
import { Form } from "../../../design/forms/Form.tsx";
import { RadioGroup } from "../../../design/forms/RadioGroup.tsx";
import { TextField } from "../../../design/forms/TextField.tsx";
import { announce } from "../../../design/states/announcements.ts";
import { Diff } from "../../../design/values/Diff.tsx";
import { Int64 } from "../../../design/values/Int64.tsx";
import { Time } from "../../../design/values/Time.tsx";
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
const ChangeCredits = ({ stored, etag, onClose }: KeyTabProps & { readonly onClose: () => void }): JSX.Element => {
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

/** Balance and refill of a key. */
export const CreditsSection = (props: KeyTabProps): JSX.Element => {
  const [changing, setChanging] = useState(false);
  const { stored, api } = props;
  const now = useNow(60_000);
  const refill = stored.credits?.refill;
  const next =
    refill === undefined
      ? undefined
      : instantAfter(
          {
            interval: refill.interval === RefillInterval.MONTHLY ? "monthly" : "daily",
            amount: Number(refill.amount),
            ...(refill.refillDay === undefined ? {} : { refillDay: Number(refill.refillDay) }),
          },
          now,
        );
  return (
    <section class="section" aria-labelledby="key-credits">
      <div class="section-header">
        <h2 id="key-credits">Credits</h2>
        <Button
          onClick={() => setChanging(true)}
          disabledBecause={missingReason(KeysService.method.updateCredits, api === undefined ? {} : { api_id: api.id })}
        >
          Change balance
        </Button>
      </div>
      <p class="key-figure">{stored.credits === undefined ? "Unlimited" : <Int64 value={stored.credits.remaining} />}</p>
      {refill !== undefined && (
        <p>
          Refill: {refillText(refill)}. The next one <Time at={next} relative /> (<Time at={next} />
          ).
        </p>
      )}
      {stored.credits !== undefined && refill === undefined && <p class="quiet">No refill.</p>}
      {changing && <ChangeCredits {...props} onClose={() => setChanging(false)} />}
    </section>
  );
};
