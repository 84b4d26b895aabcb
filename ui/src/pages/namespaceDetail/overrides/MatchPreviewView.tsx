import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Override } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { readList } from "../../../data/readInput.ts";
import { TextField } from "../../../design/forms/TextField.tsx";
import { previewMatches } from "./previewMatches.ts";
import type { SeenIdentifiers } from "./seenIdentifiers.ts";

export interface MatchPreviewViewProps {
  /** Literal or pattern, as it was typed. */
  readonly text: string;
  readonly overrides: readonly Override[];
  readonly seen: SeenIdentifiers;
}

/** Identifiers that are listed one by one. */
const listed = 12;

const More = ({ count }: { readonly count: number }): JSX.Element | null =>
  count <= 0 ? null : <li class="quiet">and {count.toLocaleString("en")} more</li>;

/** Why it is not known which identifiers were checked; undefined: it is. */
const whyUnknown = ({ data, error }: SeenIdentifiers): string | undefined =>
  error === undefined ? (data === undefined ? "Loading checked identifiers …" : undefined) : `Not known: ${error.message}`;

/** Which identifiers an override will limit, before it is set (console §3). */
export const MatchPreviewView = ({ text, overrides, seen }: MatchPreviewViewProps): JSX.Element => {
  const [added, setAdded] = useState("");
  const identifiers = [...new Set([...readList(added), ...(seen.data ?? [])])];
  const { applies, kept } = previewMatches(text, overrides, identifiers);
  return (
    <section class="preview" aria-label="Which identifiers match">
      <h3>Which identifiers match</h3>
      {identifiers.length === 0 ? (
        <p class="quiet">{whyUnknown(seen) ?? "None was checked in the last 24 hours."}</p>
      ) : (
        <p aria-live="polite">
          <strong>{applies.length.toLocaleString("en")}</strong> of {identifiers.length.toLocaleString("en")} seen in the last 24 hours.
        </p>
      )}
      {applies.length > 0 && (
        <ul aria-label="Taken by this override">
          {applies.slice(0, listed).map(({ identifier, instead }) => (
            <li key={identifier}>
              <code>{identifier}</code>
              {instead !== undefined && instead !== text && (
                <span class="quiet">
                  {" "}
                  now by <code>{instead}</code>
                </span>
              )}
            </li>
          ))}
          <More count={applies.length - listed} />
        </ul>
      )}
      {kept.length > 0 && (
        <>
          <p class="quiet">Matched too, but kept by a more exact override:</p>
          <ul aria-label="Kept by another override">
            {kept.slice(0, listed).map(({ identifier, by }) => (
              <li key={identifier}>
                <code>{identifier}</code>
                <span class="quiet">
                  {" "}
                  by <code>{by}</code>
                </span>
              </li>
            ))}
            <More count={kept.length - listed} />
          </ul>
        </>
      )}
      <TextField label="Compare with" name="compare" value={added} onChange={setAdded} hint="Identifiers of your own, with commas." />
    </section>
  );
};
