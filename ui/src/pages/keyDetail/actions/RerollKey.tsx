import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Key } from "../../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService, type RerollKeyData } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { useMutation } from "../../../data/hooks/useMutation.ts";
import { readDuration } from "../../../data/readInput.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../../design/dialogs/Dialog.tsx";
import { Secret } from "../../../design/dialogs/Secret.tsx";
import { Form } from "../../../design/forms/Form.tsx";
import { RadioGroup } from "../../../design/forms/RadioGroup.tsx";
import { TextField } from "../../../design/forms/TextField.tsx";
import { announce } from "../../../design/states/announcements.ts";
import { navigate } from "../../../router/address.ts";
import { timeText } from "../keyChanges.ts";

export interface RerollKeyProps {
  readonly stored: Key;
  readonly etag: string | undefined;
  readonly onClose: () => void;
}

const graces = [
  { value: "0", label: "At once" },
  { value: "3600000", label: "In 1 hour" },
  { value: "86400000", label: "In 24 hours" },
  { value: "604800000", label: "In 7 days" },
] as const;

type Grace = (typeof graces)[number]["value"] | "other" | "own";

/** Issues a new key. The old one keeps working during the chosen grace period, so that its users can switch. */
export const RerollKey = ({ stored, etag, onClose }: RerollKeyProps): JSX.Element => {
  const [grace, setGrace] = useState<Grace>("86400000");
  const [other, setOther] = useState("30m");
  const [made, setMade] = useState<RerollKeyData>();
  const [seen] = useState(etag);
  const reroll = useMutation(KeysService.method.rerollKey);
  const typed = grace === "other" ? readDuration(other) : undefined;
  const problem = grace === "other" && typeof typed !== "bigint" ? "90s, 15m, 24h, 30d or milliseconds." : undefined;
  const delay = typeof typed === "bigint" ? typed : BigInt(grace === "other" || grace === "own" ? 0 : grace);
  const request = {
    keyId: stored.keyId,
    expiration: { kind: grace === "own" ? ({ case: "null", value: 0 } as const) : ({ case: "value", value: delay } as const) },
  };
  const submit = async (): Promise<void> => {
    if (problem !== undefined) return;
    const answer = await reroll.run(request, seen);
    if (answer?.message.data !== undefined) setMade(answer.message.data);
  };
  if (made !== undefined) {
    return (
      <Secret
        title="The new key"
        secret={made.key}
        onClose={() => {
          onClose();
          announce("Rerolled.");
          navigate(`/ui/keys/${encodeURIComponent(made.keyId)}`);
        }}
      />
    );
  }
  return (
    <Dialog title="Reroll key" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={reroll.error}
        fields={["expiration"]}
        actions={
          <>
            <Button kind="primary" type="submit" pending={reroll.pending}>
              Reroll
            </Button>
            <CodeDrawer method={reroll.method} request={request} />
          </>
        }
      >
        <p>A new key with a new secret gets all settings of this one. When should this one stop working?</p>
        <RadioGroup
          label="The old key stops working"
          name="expiration"
          value={grace}
          onChange={setGrace}
          options={[
            ...graces,
            {
              value: "other",
              label: "After another time",
              details: (
                <TextField
                  label="Grace"
                  name="expiration"
                  value={other}
                  onChange={setOther}
                  error={problem}
                  hint="90s, 15m, 24h, 30d or milliseconds; rounded up to whole minutes."
                />
              ),
            },
            { value: "own", label: `As it does now (${timeText(stored.expires)})` },
          ]}
        />
      </Form>
    </Dialog>
  );
};
