import type { JSX } from "preact";

/** Outcomes and states that are good, by their names of the contract; all others are denials. */
const good: ReadonlySet<string> = new Set(["VALID", "PASSED", "passed", "success", "enabled", "healthy"]);

/** An outcome or a state: said by word and sign, the colour only repeats it. */
export const OutcomeBadge = ({ outcome }: { readonly outcome: string }): JSX.Element => {
  const ok = good.has(outcome);
  return (
    <span class={`badge ${ok ? "good" : "bad"}`}>
      <span aria-hidden="true">{ok ? "✓" : "✕"}</span> {outcome}
    </span>
  );
};
