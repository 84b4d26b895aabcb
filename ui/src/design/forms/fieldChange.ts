/** The change that a form makes to a nullable field (console §3): leave it, set a value, or remove it. */
export type FieldChange<Value> = { readonly kind: "keep" } | { readonly kind: "set"; readonly value: Value } | { readonly kind: "clear" };

export const keep: FieldChange<never> = { kind: "keep" };

/** As a nullable wrapper of a request has it: undefined is omitted. `null` is Protobuf's `NullValue`. */
export const nullable = <Value>(
  change: FieldChange<Value>,
): { readonly kind: { readonly case: "null"; readonly value: 0 } | { readonly case: "value"; readonly value: Value } } | undefined => {
  switch (change.kind) {
    case "keep":
      return undefined;
    case "clear":
      return { kind: { case: "null", value: 0 } };
    case "set":
      return { kind: { case: "value", value: change.value } };
  }
};
