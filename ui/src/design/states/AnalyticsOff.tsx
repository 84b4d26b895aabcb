import type { JSX } from "preact";

/** Replaces figures where the node that answered records no events (console §3). @param message the service's */
export const AnalyticsOff = ({ message }: { readonly message: string }): JSX.Element => (
  <div class="note">
    <h2>Analytics is off</h2>
    <p>This node runs without analytics. The service says: {message} One of these is the reason:</p>
    <ul>
      <li>
        The optional engine is not installed. Run <code>npm ci</code> without <code>--omit=optional</code> and restart. Several nodes need a
        ClickHouse server instead: set <code>CLICKHOUSE_URL</code> on each.
      </li>
      <li>
        <code>MONGODB_URL</code> is set and <code>CLICKHOUSE_URL</code> is not. Set <code>CLICKHOUSE_URL</code>, or for a single node{" "}
        <code>ANALYTICS=embedded</code>.
      </li>
      <li>
        <code>ANALYTICS=off</code> is set. Remove it.
      </li>
    </ul>
  </div>
);
