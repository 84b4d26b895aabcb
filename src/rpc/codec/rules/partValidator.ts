import type { Sliced } from "../../pipeline/slices.ts";
import { endTurn, type Turn, use } from "../binary/wireReader.ts";
import type { FieldShape, ListShape, NullableShape, ObjectShape, Shape } from "../shape.ts";
import { applyCrossRules } from "./applyCrossRules.ts";
import { type Finding, isFull, prefixFindings, reportMissing } from "./findings.ts";
import { isSet, validator } from "./validator.ts";

type ValidatePart = (value: unknown, findings: Finding[], turn: Turn) => Sliced<void>;

type Fields = Readonly<Record<string, unknown>>;

/** What judging one item is counted as, in bytes. */
const itemBytes = 64;

/** Whether there may be much to judge in a value. */
const isLong = (shape: Shape): boolean => {
  if (shape.kind === "nullable") return isLong(shape.value);
  if (shape.kind === "object") return shape.fields.some((field) => isLong(field.shape));
  return shape.kind === "list" || shape.kind === "boxedList";
};

const validateList = ({ item, check, most }: ListShape): ValidatePart => {
  const validateItem = partValidator(item);
  return function* (value, findings, turn) {
    const items = value as readonly unknown[];
    check(items.length, findings);
    for (let index = 0; index < items.length && index < most && !isFull(findings); index++) {
      if (use(turn, itemBytes)) yield endTurn(turn);
      const before = findings.length;
      yield* validateItem(items[index], findings, turn);
      prefixFindings(findings, before, `[${index}]`);
    }
  };
};

const validateField = (field: FieldShape): ValidatePart => {
  const { name, local, required, explicit } = field;
  const validate = partValidator(field.shape);
  const given = isSet(field);
  return function* (message, findings, turn) {
    const value = (message as Fields)[local];
    if ((required || explicit || field.shape.kind === "enum") && !given(value)) {
      if (required) reportMissing(findings, name);
      return;
    }
    const before = findings.length;
    yield* validate(value, findings, turn);
    prefixFindings(findings, before, `.${name}`);
  };
};

const validateObject = (shape: ObjectShape): ValidatePart => {
  const fields = shape.fields.map(validateField);
  const crossCheck = applyCrossRules(shape.crossRules);
  return function* (message, findings, turn) {
    const first = findings.length;
    for (const validate of fields) yield* validate(message, findings, turn);
    crossCheck(message, findings, first);
  };
};

const validateNullable = (shape: NullableShape): ValidatePart => {
  const inner = partValidator(shape.value);
  const validate = validator(shape);
  return function* (value, findings, turn) {
    const { kind } = value as { readonly kind: { readonly case: string | undefined; readonly value?: unknown } };
    if (kind.case === "value") yield* inner(kind.value, findings, turn);
    else validate(value, findings);
  };
};

/** The validator in slices, for messages that are too large for one turn of the event loop. Judges alike. */
export const partValidator = (shape: Shape): ValidatePart => {
  if (shape.kind === "list") return validateList(shape);
  if (shape.kind === "boxedList") {
    const validate = validateList(shape.list);
    return (value, findings, turn) => validate((value as Fields)[shape.local], findings, turn);
  }
  if (shape.kind === "object" && isLong(shape)) return validateObject(shape);
  if (shape.kind === "nullable" && isLong(shape)) return validateNullable(shape);
  const validate = validator(shape);
  // biome-ignore lint/correctness/useYield: it is over within the turn
  return function* (value, findings) {
    validate(value, findings);
  };
};
