import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type RootKey, RootKeysService } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { RadioGroup } from "../../design/forms/RadioGroup.tsx";
import { expiryOf, titleOf } from "./rootKeyText.ts";

const hour = 3_600_000;

/** Grace periods of the old secret, ms. `keep`: its expiry stays as it is. */
const graces = [
  { value: String(24 * hour), label: "24 hours" },
  { value: String(hour), label: "1 hour" },
  { value: String(7 * 24 * hour), label: "7 days" },
  { value: "0", label: "Not at all: revoke it at once" },
  { value: "keep", label: "Until its own expiry" },
] as const;

export interface RerollRootKeyProps {
  readonly rootKey: RootKey;
  /** Takes the new secret, which is there this once. */
  readonly onRerolled: (secret: string) => void;
  readonly onClose: () => void;
}

/** Makes a new secret and lets the old one run out. */
export const RerollRootKey = ({ rootKey, onRerolled, onClose }: RerollRootKeyProps): JSX.Element => {
  const [grace, setGrace] = useState<(typeof graces)[number]["value"]>(graces[0].value);
  const reroll = useMutation(RootKeysService.method.rerollKey);
  const request = {
    keyId: rootKey.keyId,
    expiration: { kind: grace === "keep" ? ({ case: "null", value: 0 } as const) : ({ case: "value", value: BigInt(grace) } as const) },
  };
  const submit = async (): Promise<void> => {
    const answer = await reroll.run(request);
    if (answer?.message.data === undefined) return;
    onClose();
    onRerolled(answer.message.data.key);
  };
  return (
    <Dialog title={`Reroll ${titleOf(rootKey)}`} onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={reroll.error}
        fields={["expiration"]}
        actions={
          <>
            <Button
              kind="primary"
              type="submit"
              pending={reroll.pending}
              disabledBecause={missingReason(reroll.method, { key_id: rootKey.keyId })}
            >
              Reroll
            </Button>
            <CodeDrawer method={reroll.method} request={request} />
          </>
        }
      >
        <p>The new root key has the same name, state, expiry and permissions, and a new secret.</p>
        <RadioGroup
          label="The old one keeps working for"
          name="expiration"
          value={grace}
          options={graces.map((option) =>
            option.value === "keep" && expiryOf(rootKey) === undefined ? { ...option, label: "Forever: it has no expiry" } : option,
          )}
          onChange={setGrace}
        />
      </Form>
    </Dialog>
  );
};
