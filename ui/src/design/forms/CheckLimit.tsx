import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type LimitData, RatelimitService } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { readDuration, readInteger } from "../../data/readInput.ts";
import { Button } from "../actions/Button.tsx";
import { CodeDrawer } from "../dialogs/CodeDrawer.tsx";
import { DurationField } from "./DurationField.tsx";
import { Form } from "./Form.tsx";
import { TextField } from "./TextField.tsx";

/** A check that was made, as it was answered. */
export interface CheckedLimit extends LimitData {
  readonly namespace: string;
  readonly identifier: string;
}

export interface CheckLimitProps {
  /** The namespace whose limit is checked; none: the form asks for its name, and an unknown one is created. */
  readonly namespace?: { readonly id: string };
  readonly onChecked: (answer: CheckedLimit) => void;
}

const badNumber = (text: string): string | undefined => (readInteger(text) === "invalid" ? "A whole number." : undefined);

const numberOr = (read: bigint | undefined | "invalid", otherwise: bigint): bigint => (typeof read === "bigint" ? read : otherwise);

/** Makes one real check of a limit (ratelimit §6). */
export const CheckLimit = ({ namespace, onChecked }: CheckLimitProps): JSX.Element => {
  const [typed, setTyped] = useState({ namespace: "", identifier: "", limit: "10", duration: "60000", cost: "1" });
  const check = useMutation(RatelimitService.method.limit);
  const set = (name: keyof typeof typed) => (value: string) => setTyped((before) => ({ ...before, [name]: value }));
  const request = {
    namespace: namespace?.id ?? typed.namespace,
    identifier: typed.identifier,
    limit: numberOr(readInteger(typed.limit), 0n),
    duration: numberOr(readDuration(typed.duration), 0n),
    cost: numberOr(readInteger(typed.cost), 1n),
  };
  const submit = async (): Promise<void> => {
    if ([typed.limit, typed.cost].some((text) => badNumber(text) !== undefined) || readDuration(typed.duration) === "invalid") return;
    const answer = await check.run(request);
    if (answer?.message.data !== undefined) {
      onChecked({ ...answer.message.data, namespace: request.namespace, identifier: request.identifier });
    }
  };
  return (
    <Form
      onSubmit={() => void submit()}
      error={check.error}
      fields={["namespace", "identifier", "limit", "duration", "cost"]}
      actions={
        <>
          <Button
            kind="primary"
            type="submit"
            pending={check.pending}
            disabledBecause={missingReason(check.method, { id: namespace?.id ?? "*" })}
          >
            Try
          </Button>
          <CodeDrawer method={check.method} request={request} />
        </>
      }
    >
      {namespace === undefined && (
        <TextField
          label="Namespace"
          name="namespace"
          value={typed.namespace}
          onChange={set("namespace")}
          hint="A name such as logins. An unknown one is created."
          required
          autofocus
        />
      )}
      <TextField
        label="Identifier"
        name="identifier"
        value={typed.identifier}
        onChange={set("identifier")}
        hint="The user, address or other caller to limit."
        required
      />
      <div class="field-row">
        <TextField label="Limit" name="limit" value={typed.limit} onChange={set("limit")} error={badNumber(typed.limit)} required />
        <DurationField label="Duration" name="duration" value={typed.duration} onChange={set("duration")} />
        <TextField
          label="Cost"
          name="cost"
          value={typed.cost}
          onChange={set("cost")}
          error={badNumber(typed.cost)}
          hint="The tokens to spend; 0 only checks."
        />
      </div>
    </Form>
  );
};
