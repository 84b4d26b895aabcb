import type { JSX } from "preact";

/** A whole number with separators, exact at 64 bits: `BigInt` all the way, never a JavaScript number. */
export const Int64 = ({ value }: { readonly value: bigint | number }): JSX.Element => (
  <span class="number">{value.toLocaleString("en")}</span>
);
