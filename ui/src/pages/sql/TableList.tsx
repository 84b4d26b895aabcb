import type { JSX } from "preact";
import { ratelimitTables, verificationTables } from "./eventTables.ts";

/** Which tables and columns there are, for those who do not know them by heart. */
export const TableList = (): JSX.Element => (
  <details>
    <summary>Tables and columns</summary>
    <p class="quiet">
      In the raw tables <code>time</code> is Unix ms; in the others, add up rows with <code>sum(count)</code>.
    </p>
    <dl class="sql-tables">
      {[...verificationTables, ...ratelimitTables].map(({ name, columns }) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
          </dt>
          <dd class="quiet">
            <code>{columns.join(", ")}</code>
          </dd>
        </div>
      ))}
    </dl>
  </details>
);
