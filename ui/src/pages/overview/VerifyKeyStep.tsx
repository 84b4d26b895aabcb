import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { KeysService, VerificationCodeSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { enumName } from "../../data/code/enumName.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { announce } from "../../design/states/announcements.ts";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import { CommandOfStep } from "./CommandOfStep.tsx";

export interface VerifyKeyStepProps {
  readonly apiId: string;
  /** The key was found valid. */
  readonly onVerified: () => void;
}

/** The third step: what a service asks for each request that it gets. */
export const VerifyKeyStep = ({ apiId, onVerified }: VerifyKeyStepProps): JSX.Element => {
  const [key, setKey] = useState("");
  const [refused, setRefused] = useState<string>();
  const verify = useMutation(KeysService.method.verifyKey);
  const submit = async (): Promise<void> => {
    const answer = await verify.run({ key });
    if (answer?.message.data === undefined) return;
    const { valid, code } = answer.message.data;
    if (!valid) return setRefused(enumName(VerificationCodeSchema, code));
    setKey("");
    announce("The key is VALID.");
    onVerified();
  };
  return (
    <>
      <p>Your service makes this call for each request that it gets.</p>
      <Form
        onSubmit={() => void submit()}
        error={verify.error}
        fields={["key"]}
        actions={
          <Button kind="primary" type="submit" pending={verify.pending} disabledBecause={missingReason(verify.method, { api_id: apiId })}>
            Verify
          </Button>
        }
      >
        <TextField label="Key" name="key" type="password" value={key} onChange={setKey} hint="The whole key, as it was copied." required />
        <div role="status">
          {refused !== undefined && (
            <p>
              <OutcomeBadge outcome={refused} /> is the service's answer for this key.
            </p>
          )}
        </div>
      </Form>
      <CommandOfStep method={verify.method} request={{ key: "key" }} />
    </>
  );
};
