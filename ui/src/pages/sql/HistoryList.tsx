import type { JSX } from "preact";
import { Button } from "../../design/actions/Button.tsx";
import { Time } from "../../design/values/Time.tsx";
import { queryHistory } from "./queryHistory.ts";

/** The queries since this page was opened. Each can be put back into the editor. */
export const HistoryList = ({ onUse }: { readonly onUse: (query: string) => void }): JSX.Element | null =>
  queryHistory.value.length === 0 ? null : (
    <section class="section" aria-labelledby="sql-history">
      <h2 id="sql-history">History</h2>
      <p class="quiet">Until you sign out or reload. Nothing of it is stored.</p>
      <ol class="sql-history">
        {queryHistory.value.map(({ query, at, took, result }) => (
          <li key={`${at} ${query}`}>
            <div>
              <code>{query}</code>
              <p class="quiet">
                <Time at={at} relative /> · {took.toLocaleString("en")} ms · {result}
              </p>
            </div>
            <Button onClick={() => onUse(query)} label={`Edit: ${query}`}>
              Edit
            </Button>
          </li>
        ))}
      </ol>
    </section>
  );
