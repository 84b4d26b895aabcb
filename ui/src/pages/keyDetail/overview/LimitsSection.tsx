import type { JSX } from "preact";
import { KeysService, VerificationCheck } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { useQuery } from "../../../data/hooks/useQuery.ts";
import { QueryView } from "../../../design/states/QueryView.tsx";
import { DataTable } from "../../../design/tables/DataTable.tsx";
import { limitColumns } from "../../../design/tables/limitColumns.tsx";
import type { KeyTabProps } from "../useKey.ts";

/** Milliseconds between looks at the windows. */
const look = 5000;

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
