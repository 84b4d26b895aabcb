import type { ComponentChildren, JSX } from "preact";
import type { FieldChange } from "./fieldChange.ts";
import { RadioGroup } from "./RadioGroup.tsx";

export interface ThreeStateProps<Value> {
  /** The field's label, which names the group. */
  readonly label: string;
  /** The JSON name of the contract. */
  readonly name: string;
  readonly change: FieldChange<Value>;
  readonly onChange: (change: FieldChange<Value>) => void;
  /** The stored value in words: "192.0.2.0/24", "unlimited credits". */
  readonly current: string;
  /** The effect of clearing, in words: "Allow every address". */
  readonly clear: string;
  /** The value that "Set" begins with. */
  readonly initial: Value;
  /** Edits the value. */
  readonly children: (value: Value, set: (value: Value) => void) => ComponentChildren;
}

/** Keep, set or clear a nullable field (console §3). */
export const ThreeState = <Value,>({
  label,
  name,
  change,
  onChange,
  current,
  clear,
  initial,
  children,
}: ThreeStateProps<Value>): JSX.Element => (
  <RadioGroup
    label={label}
    name={`change:${name}`}
    value={change.kind}
    onChange={(kind) => onChange(kind === "set" ? { kind, value: initial } : { kind })}
    options={[
      { value: "keep", label: `Keep (${current})` },
      {
        value: "set",
        label: "Set",
        details: change.kind === "set" ? children(change.value, (value) => onChange({ kind: "set", value })) : undefined,
      },
      { value: "clear", label: clear },
    ]}
  />
);
