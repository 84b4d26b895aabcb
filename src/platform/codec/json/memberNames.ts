import type { Dialect, FieldShape, ObjectShape } from "../shape.ts";

/** A field, found by a name that it has in JSON. */
export interface Member<D> {
  readonly field: FieldShape;
  readonly local: string;
  /** What it adds to the place of a violation. */
  readonly segment: string;
  readonly decode: D;
}

/** The fields of an object by their names in a dialect. */
export const memberNames = <D>(
  { fields }: ObjectShape,
  dialect: Dialect,
  compile: (field: FieldShape) => D,
): ReadonlyMap<string, Member<D>> => {
  const members = new Map<string, Member<D>>();
  for (const field of fields) {
    const { name, protoName, local } = field;
    const member = { field, local, segment: `.${name}`, decode: compile(field) };
    members.set(name, member);
    if (dialect === "protobuf") members.set(protoName, member);
  }
  return members;
};

/** Whether Protobuf calls a field omitted: not given, or the value of an enum that stands for nothing. */
export const isUnset = ({ shape, local }: FieldShape, isGiven: boolean, message: Readonly<Record<string, unknown>>): boolean =>
  !isGiven || (shape.kind === "enum" && message[local] === 0);
