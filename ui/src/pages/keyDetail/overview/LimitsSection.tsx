import type { JSX } from "preact";
import { type ExplainedRatelimit, KeysService, RatelimitSourceSchema, VerificationCheck } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { enumName } from "../../../data/code/enumName.ts";
import { useQuery } from "../../../data/hooks/useQuery.ts";
import { durationText } from "../../../data/readInput.ts";
import { QueryView } from "../../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../../design/tables/DataTable.tsx";
import { Int64 } from "../../../design/values/Int64.tsx";
import { Time } from "../../../design/values/Time.tsx";
import type { KeyTabProps } from "../useKey.ts";

/** Milliseconds between looks at the windows. */
const look = 5000;

/** How much of a window is used: a bar, and the numbers beside it. */
const Used = ({ limit, remaining }: ExplainedRatelimit): JSX.Element => (
  <span class="used">
    <meter min={0} max={Number(limit)} value={Number(limit - remaining)} aria-hidden="true" />
    <Int64 value={limit - remaining} /> of <Int64 value={limit} />
  </span>
);

/** The columns of limits with their windows. */
export const limitColumns: readonly Column<ExplainedRatelimit>[] = [
  { id: "name", label: "Name", narrow: true, cell: ({ name }) => name },
  { id: "used", label: "Used", narrow: true, cell: (limit) => <Used {...limit} /> },
  { id: "duration", label: "Per", cell: ({ duration }) => durationText(duration) },
  { id: "reset", label: "Window ends", cell: ({ reset }) => <Time at={reset} relative /> },
  { id: "source", label: "From", cell: ({ source }) => enumName(RatelimitSourceSchema, source) },
  { id: "current", label: "This window", number: true, optional: true, cell: ({ current }) => <Int64 value={current} /> },
  { id: "weighted", label: "Of the one before", number: true, optional: true, cell: ({ weighted }) => <Int64 value={weighted} /> },
];

/** The limits of the key and of its identity, with their windows as they are now. */
export const LimitsSection = ({ stored }: KeyTabProps): JSX.Element => {
  const names = [...new Set([...stored.ratelimits, ...(stored.identity?.ratelimits ?? [])].map(({ name }) => name))].slice(0, 50);
  const explained = useQuery(
    KeysService.method.explain,
    { keyId: stored.keyId, ratelimits: names.map((name) => ({ name, cost: 0n })) },
    { enabled: names.length > 0, pollEvery: look },
  );
  return (
    <section class="section" aria-labelledby="key-limits">
      <h2 id="key-limits">Rate limits</h2>
      {names.length === 0 ? (
        <p class="quiet">None.</p>
      ) : (
        <QueryView query={explained} lines={2}>
          {({ data }) => (
            <DataTable
              label="Rate limits"
              columns={limitColumns}
              rows={data?.steps.find(({ check }) => check === VerificationCheck.RATELIMITS)?.facts?.ratelimits ?? []}
              rowKey={({ name }) => name}
            />
          )}
        </QueryView>
      )}
    </section>
  );
};
