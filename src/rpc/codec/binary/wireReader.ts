import { type BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { Sliced } from "../../pipeline/slices.ts";
import type { CountValue } from "../valueCount.ts";

/** Bytes, and fields counted as so many, that are handled in one turn of the event loop. */
const sliceBytes: number = 64 * 1024;
const recordBytes = 16;

/** Groups within one another; as the library has it. */
const deepestGroup = 100;

/** How much of a turn is used up, by whatever part of a message. */
export interface Turn {
  used: number;
  /** To be called for every value that becomes part of the message. */
  readonly countValue: CountValue;
}

/** To be called for every field and every piece of work. */
export const use = (turn: Turn, bytes: number): boolean => {
  turn.used += recordBytes + bytes;
  return turn.used >= sliceBytes;
};

/** Begins the next slice. Returns the size of the last. */
export const endTurn = (turn: Turn): number => {
  const { used } = turn;
  turn.used = 0;
  return used;
};

/** To be called at what should be the end of a message: fields may have claimed more than there is. */
export const expectEnd = ({ pos, len }: BinaryReader): void => {
  if (pos > len) throw new RangeError("the message ends too early");
};

/** Goes beyond a group, which nothing of ours is: in slices and without recursion. Throws for what is no Protobuf. */
export function* skipGroup(reader: BinaryReader, number: number, turn: Turn): Sliced<void> {
  const groups = [number];
  while (groups.length > 0) {
    if (use(turn, 0)) yield endTurn(turn);
    const [inner, wireType] = reader.tag();
    if (wireType === WireType.StartGroup) {
      if (groups.push(inner) > deepestGroup) throw new Error("groups nested too deep");
    } else if (wireType === WireType.EndGroup) {
      if (groups.pop() !== inner) throw new Error("a group ends that did not begin");
    } else reader.skip(wireType, inner);
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Texts are decoded in pieces of so many bytes. */
const pieceBytes: number = 32 * 1024;

/** Decodes a text of any length. Throws for what is not UTF-8. */
export function* longUtf8(bytes: Uint8Array, turn: Turn): Sliced<string> {
  const pieces = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    text += pieces.decode(bytes.subarray(at, at + pieceBytes), { stream: true });
    if (use(turn, pieceBytes)) yield endTurn(turn);
  }
  return text + pieces.decode();
}

/** Whether a text is too long for `utf8` in one turn, which else is counted. */
export const isLongText = (bytes: Uint8Array, turn: Turn): boolean => {
  if (bytes.length > pieceBytes) return true;
  use(turn, bytes.length);
  return false;
};

/** Throws for what is not UTF-8. */
export const utf8 = (bytes: Uint8Array): string => decoder.decode(bytes);
