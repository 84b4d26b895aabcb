import type { DescribedField } from "../../platform/rpc/description/describeField.ts";
import type { DescribedProcedure } from "../../platform/rpc/description/describeProcedures.ts";

/** An option of a command that calls a procedure: one field of its request. */
export interface Flag {
  /** Without its dashes: `credits.refill-day`. */
  readonly name: string;
  /** Of the field in the body. Empty: the body is the list. */
  readonly path: readonly string[];
  readonly field: DescribedField;
}

/** `apiId` → `api-id` */
export const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const flagsIn = (fields: readonly DescribedField[], path: readonly string[]): Flag[] =>
  fields.flatMap((field) => {
    const own = { name: [...path, field.name].map(kebab).join("."), path: [...path, field.name], field };
    return field.isList ? [own] : [own, ...flagsIn(field.fields, own.path)];
  });

/** Every field of a request, also those inside objects; what is inside the objects of a list is part of its value. */
export const flagsOf = ({ fields, arrayBody }: DescribedProcedure): readonly Flag[] =>
  arrayBody === undefined ? flagsIn(fields, []) : [{ name: kebab(arrayBody.name), path: [], field: arrayBody }];

/**
 * The name of the option that says that there is none; undefined where leaving the field out says it. A list that no null
 * ends is emptied, a truth value is false.
 */
export const noneName = ({ name, field }: Flag): string | undefined =>
  field.none !== undefined || (field.kind === "boolean" && !field.isList) ? `no-${name}` : undefined;

/** What that option sends. */
export const noneValue = ({ field }: Flag): null | readonly [] | false => (field.none === undefined ? false : field.none);

/** Names places in a request as its options: `body.credits.refill.amount` → `--credits.refill.amount`. */
export const placeNames = (flags: readonly Flag[]): ((location: string) => string) => {
  const byLength = flags.toSorted((a, b) => b.path.length - a.path.length);
  return (location) => {
    if (location === "body") return "--data";
    if (!/^body[.[]/.test(location)) return location;
    for (const { name, path } of byLength) {
      const place = ["body", ...path].join(".");
      const rest = location.slice(place.length);
      if (location.startsWith(place) && (rest === "" || /^[.[]/.test(rest))) return `--${name}${rest}`;
    }
    return location;
  };
};
