import { type DescField, getOption, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { default_value } from "../../../../gen/latchkey/v2/options_pb.ts";
import { oncePer } from "../../util/oncePer.ts";

/**
 * Reads the value that a field of a request has when it is left out, as /v2 JSON. Undefined: the field has no such value. Only
 * the interface declares defaults: procedures and documents take them from here.
 */
export const fieldDefault = (field: DescField): unknown => {
  const text = getOption(field, default_value);
  if (text !== "") return JSON.parse(text) as unknown;
  const isPlain = field.fieldKind === "scalar" && field.presence === FeatureSet_FieldPresence.IMPLICIT;
  return isPlain && field.scalar === ScalarType.BOOL ? false : undefined;
};

/** Reads the default of an integer field. Throws for a field that has none. */
const defaultInteger: (field: DescField) => number = oncePer((field: DescField) => {
  const value = fieldDefault(field);
  if (typeof value !== "number") throw new Error(`${String(field)}: there is no default`);
  return value;
});

/** The value of an optional integer field, or its default. Throws for a field that has none. */
export const integerOrDefault = (field: DescField, value: bigint | undefined): number =>
  value === undefined ? defaultInteger(field) : Number(value);
