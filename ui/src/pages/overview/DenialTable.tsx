import type { JSX } from "preact";
import type { OutcomeTotal } from "./outcomeFigures.ts";

/** The reasons of denials, with the share of each. */
export const DenialTable = ({ reasons, denied }: { readonly reasons: readonly OutcomeTotal[]; readonly denied: number }): JSX.Element => (
  <table class="denials" aria-label="Reasons of denials">
    <thead>
      <tr>
        <th scope="col">Reason</th>
        <th scope="col" class="number">
          Denials
        </th>
        <th scope="col">Share</th>
      </tr>
    </thead>
    <tbody>
      {reasons.map(({ outcome, count }) => {
        const share = (count / denied).toLocaleString("en", { style: "percent", maximumFractionDigits: 1 });
        return (
          <tr key={outcome}>
            <th scope="row">
              <code>{outcome}</code>
            </th>
            <td class="number">{count.toLocaleString("en")}</td>
            <td>
              <span class="share">
                <span class="bar" aria-hidden="true" style={{ inlineSize: `${(count / denied) * 100}%` }} />
              </span>{" "}
              <span class="number">{share}</span>
            </td>
          </tr>
        );
      })}
    </tbody>
  </table>
);
