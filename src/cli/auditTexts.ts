import { counted } from "../platform/util/counted.ts";

/** What `audit verify` says, by the store and by the service alike. */

/** Of a head that no entry has. @param isDropped whether entries were dropped. */
export const missingAnchor = (anchor: string, isDropped: boolean): string => {
  const orDropped = isDropped ? ", or the entry that had it was dropped" : "";
  return `no entry has the hash ${anchor}: the log was cut off before it, or rewritten${orDropped}`;
};

/** Of entries that were dropped, by number and hash of the last of them. @param time RFC 3339. */
export const droppedLine = ({
  sequence,
  hash,
  time,
}: {
  readonly sequence: number;
  readonly hash: string;
  readonly time: string;
}): string => `Entries up to number ${sequence} (hash ${hash}) were dropped, the last of them at ${time}: checked from there.`;

/** Of entries whose texts were erased. @param unhashed those that earlier versions wrote */
export const erasedLine = ({ entries, unhashed }: { readonly entries: number; readonly unhashed: number }): string => {
  const older =
    unhashed === 0
      ? ""
      : `; of ${unhashed.toLocaleString("en")}, written by earlier versions, only audit.erase says what is left of them, and what came before`;
  return `${counted(entries, "entry", "entries")} without texts, which were erased${older}.`;
};

/** Of a head that does not cover all before it, as the texts of an old entry were erased later. */
export const uncoveredLine = ({ sequence, statedBy }: { readonly sequence: number; readonly statedBy: number }): string =>
  `The head covers what comes after entry ${sequence}, whose texts entry ${statedBy} erased later: for what comes before, check an older head too, or one that was kept since.`;
