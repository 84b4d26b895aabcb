import type { JSX } from "preact";

/** In the place of figures where the service records none (console §3). */
export const AnalyticsOff = (): JSX.Element => (
  <div class="note">
    <h2>Analytics is off</h2>
    <p>
      Start the service with <code>ANALYTICS=embedded</code>, or with <code>CLICKHOUSE_URL</code> where several nodes share a ClickHouse
      server.
    </p>
  </div>
);
