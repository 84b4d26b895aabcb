import { heldText } from "../../util/jsonText.ts";
import { type FixedPart, fixedPartOf } from "./fixedPart.ts";
import type { Shape } from "./shape.ts";

/** Roughly how many bytes of an answer can be much: its metadata, and its lists where it is a list itself. */
type Weigh = (value: unknown) => number;

/** What an item of a list, or a row of analytics, is counted as. */
const itemBytes = 64;

type Fields = Readonly<Record<string, unknown>>;

/** The answer itself, the one object that it is about, or an item of the list that it is. */
type Place = "answer" | "object" | "item";

const weigherAt = (place: Place, shape: Shape, isWritten: (part: FixedPart) => boolean): Weigh | undefined => {
  switch (shape.kind) {
    case "struct":
      return (value) => heldText(value as object)?.length ?? itemBytes;
    case "list": {
      // The lists of one object have a thousand items at most, but for those of an import, which takes far longer itself.
      if (place === "object") return undefined;
      const weigh = weigherAt("item", shape.item, isWritten);
      return (value) => {
        const items = value as readonly unknown[];
        let sum = itemBytes * items.length;
        if (weigh !== undefined) for (const item of items) sum += weigh(item);
        return sum;
      };
    }
    case "object": {
      const members = shape.fields.flatMap(({ local, shape: inner }) => {
        const weigh = weigherAt(place === "answer" && inner.kind !== "list" ? "object" : place, inner, isWritten);
        return weigh === undefined ? [] : [{ local, weigh }];
      });
      if (members.length === 0) return undefined;
      const sumOf = (fields: Fields): number => {
        let sum = 0;
        for (const { local, weigh } of members) {
          const value = fields[local];
          if (value !== undefined) sum += weigh(value);
        }
        return sum;
      };
      return (value) => {
        const part = fixedPartOf(value as Fields);
        return sumOf(value as Fields) + (part === undefined || isWritten(part) ? 0 : sumOf(part.fields()));
      };
    }
    default:
      return undefined;
  }
};

/**
 * Compiles what tells large answers from small ones; undefined for a type whose messages cannot be large.
 * @param isWritten whether a fixed part has been written before in the form that is asked for, and so costs nothing.
 */
export const weigher = (shape: Shape, isWritten: (part: FixedPart) => boolean): Weigh | undefined => weigherAt("answer", shape, isWritten);
