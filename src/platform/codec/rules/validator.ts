import {
  type BoxedListShape,
  type EnumShape,
  type FieldShape,
  type ListShape,
  type NullableShape,
  type ObjectShape,
  type Shape,
  zeroOf,
} from "../shape.ts";
import { applyCrossRules } from "./applyCrossRules.ts";
import { type Check, prefixFindings, report, reportMissing } from "./findings.ts";

type Validate = Check<unknown>;

const validateEnum = ({ spellings }: EnumShape): Validate => {
  const names = [...spellings.values()].join(", ");
  return (value, findings) => {
    if (typeof value !== "number" || !spellings.has(value)) report(findings, `want one of ${names}`);
  };
};

const validateList = ({ item, check, most }: ListShape): Validate => {
  const validateItem = validator(item);
  return (value, findings) => {
    const items = value as readonly unknown[];
    check(items.length, findings);
    for (let index = 0; index < items.length && index < most; index++) {
      const before = findings.length;
      validateItem(items[index], findings);
      if (findings.length !== before) prefixFindings(findings, before, `[${index}]`);
    }
  };
};

const validateBoxedList = ({ local, list }: BoxedListShape): Validate => {
  const validate = validateList(list);
  return (value, findings) => validate((value as Readonly<Record<string, unknown>>)[local], findings);
};

interface NullableMessage {
  readonly kind: { readonly case: "null" | "value" | undefined; readonly value?: unknown };
}

const validateNullable = (shape: NullableShape): Validate => {
  const validate = validator(shape.value);
  return (value, findings) => {
    const { kind } = value as NullableMessage;
    if (kind.case === "value") validate(kind.value, findings);
    else if (kind.case === undefined) report(findings, "got neither null nor a value");
  };
};

/** Whether Protobuf calls the field set: given at all, or other than zero or empty where that is not told apart. */
const isSet = (field: FieldShape): ((value: unknown) => boolean) => {
  if (field.explicit) return (value) => value !== undefined;
  if (field.shape.kind === "list") return (value) => (value as readonly unknown[]).length > 0;
  const zero = zeroOf(field);
  return (value) => value !== zero;
};

const validateField = (field: FieldShape): Validate => {
  const { name, local, required, explicit } = field;
  const validate = validator(field.shape);
  const given = isSet(field);
  const segment = `.${name}`;
  // An enum's zero value stands for omission; other fields without presence are judged as they are.
  const mayBeUnset = explicit || field.shape.kind === "enum";
  return (message, findings) => {
    const value = (message as Readonly<Record<string, unknown>>)[local];
    if ((required || mayBeUnset) && !given(value)) {
      if (required) reportMissing(findings, name);
      return;
    }
    const before = findings.length;
    validate(value, findings);
    if (findings.length !== before) prefixFindings(findings, before, segment);
  };
};

const validateObject = (shape: ObjectShape): Validate => {
  const fields = shape.fields.map(validateField);
  const crossCheck = applyCrossRules(shape.crossRules);
  return (message, findings) => {
    const first = findings.length;
    for (const validate of fields) validate(message, findings);
    crossCheck(message, findings, first);
  };
};

/**
 * Compiles the rules of a message that did not come as /v2 JSON (grpc §2): the same checks as the decoder's, with
 * presence as protovalidate sees it.
 */
export const validator = (shape: Shape): Validate => {
  switch (shape.kind) {
    case "text":
      return (value, findings) => shape.check(value as string, findings);
    case "boolean":
      return () => {};
    case "struct":
      return (value, findings) => shape.check(value as object, findings);
    case "integer":
      return (value, findings) => shape.check(Number(value), findings);
    case "enum":
      return validateEnum(shape);
    case "list":
      return validateList(shape);
    case "boxedList":
      return validateBoxedList(shape);
    case "nullable":
      return validateNullable(shape);
    case "object":
      return validateObject(shape);
  }
};
