import type { JSX } from "preact";

/** One field before and after; undefined: was not, or will not be there. */
export interface Change {
  /** JSON name of the contract. */
  readonly field: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const shown = (value: string | undefined): JSX.Element => (value === undefined ? <span class="quiet">none</span> : <code>{value}</code>);

/** Before → after, as a table, so that nothing is said by colour alone. @param headings of the two columns */
export const Diff = ({
  changes,
  headings = ["Before", "After"],
}: {
  readonly changes: readonly Change[];
  readonly headings?: readonly [string, string];
}): JSX.Element => (
  <table class="diff">
    <thead>
      <tr>
        <th scope="col">Field</th>
        <th scope="col">{headings[0]}</th>
        <th scope="col">{headings[1]}</th>
      </tr>
    </thead>
    <tbody>
      {changes.map(({ field, before, after }) => (
        <tr key={field}>
          <th scope="row">
            <code>{field}</code>
          </th>
          <td class="before">{shown(before)}</td>
          <td class="after">{shown(after)}</td>
        </tr>
      ))}
    </tbody>
  </table>
);
