import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type CheckedLimit, CheckLimit } from "../../design/forms/CheckLimit.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import { Time } from "../../design/values/Time.tsx";
import type { NamespaceNames } from "./readNamespace.ts";

/** Answers that stay on the page, latest first. */
const kept = 20;

/** Checks a limit by hand, and shows what was answered. */
export const TryTab = ({ namespace }: { readonly namespace: NamespaceNames }): JSX.Element => {
  const [answers, setAnswers] = useState<readonly (CheckedLimit & { readonly count: number })[]>([]);
  return (
    <div class="beside">
      <CheckLimit
        namespace={namespace}
        onChecked={(answer) => setAnswers((before) => [{ ...answer, count: (before[0]?.count ?? 0) + 1 }, ...before].slice(0, kept))}
      />
      <section aria-labelledby="answers">
        <h2 id="answers">Answers</h2>
        <div role="status">
          {answers.length === 0 ? (
            <p class="quiet">None yet. Each check is a real one: it counts.</p>
          ) : (
            <div class="scrolls" tabIndex={0} role="region" aria-label="Answers, as a table">
              <table aria-label="Answers">
                <thead>
                  <tr>
                    <th scope="col">Identifier</th>
                    <th scope="col">Result</th>
                    <th scope="col" class="number">
                      Left
                    </th>
                    <th scope="col">Window ends</th>
                  </tr>
                </thead>
                <tbody>
                  {answers.map(({ count, identifier, success, remaining, limit, reset, overrideId }) => (
                    <tr key={count}>
                      <th scope="row">
                        <code>{identifier}</code>
                      </th>
                      <td>
                        <OutcomeBadge outcome={success ? "passed" : "denied"} />
                        {overrideId !== undefined && <div class="hint">by an override</div>}
                      </td>
                      <td class="number">
                        {remaining.toLocaleString("en")} of {limit.toLocaleString("en")}
                      </td>
                      <td>
                        <Time at={reset} relative />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </div>
      </section>
    </div>
  );
};
