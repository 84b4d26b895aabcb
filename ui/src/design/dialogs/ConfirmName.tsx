import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { CallError } from "../../data/calls/callError.ts";
import { Button } from "../actions/Button.tsx";
import { Form } from "../forms/Form.tsx";
import { TextField } from "../forms/TextField.tsx";
import { Dialog } from "./Dialog.tsx";

export interface ConfirmNameProps {
  /** "Delete API". */
  readonly title: string;
  /** The name that the person has to type. */
  readonly name: string;
  /** "Delete", "Revoke": the button. */
  readonly action: string;
  /** The consequences. */
  readonly children: ComponentChildren;
  readonly pending: boolean;
  readonly error: CallError | undefined;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Takes something away only from a person who has typed its name (console §3). */
export const ConfirmName = ({ title, name, action, children, pending, error, onConfirm, onClose }: ConfirmNameProps): JSX.Element => {
  const [typed, setTyped] = useState("");
  const matches = typed === name;
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        onSubmit={() => {
          if (matches && !pending) onConfirm();
        }}
        error={error}
        fields={[]}
        actions={
          <Button kind="danger" type="submit" pending={pending} disabledBecause={matches ? undefined : "Type the name first."}>
            {action}
          </Button>
        }
      >
        {children}
        <p>
          Type <strong class="confirm-name">{name}</strong> to go on.
        </p>
        <TextField label="Name to confirm" name="confirm" value={typed} onChange={setTyped} autofocus />
      </Form>
    </Dialog>
  );
};
