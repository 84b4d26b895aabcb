import type { JSX } from "preact";
import type { Identity } from "../../../../gen/latchkey/v2/common_pb.ts";
import { type ExplainedRatelimit, KeysService, RatelimitSource, VerificationCheck } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { unseenBy } from "../../data/access/unseen.ts";
import { type Answer, type CallOptions, call } from "../../data/calls/call.ts";
import { requestKey } from "../../data/calls/requestKey.ts";
import { useLoad } from "../../data/hooks/useLoad.ts";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { NoRows } from "../../design/states/NoRows.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { DataTable } from "../../design/tables/DataTable.tsx";
import { limitColumns } from "../../design/tables/limitColumns.tsx";

const { searchKeys, explain } = KeysService.method;

/** Milliseconds between looks at the windows. */
const look = 5000;

/**
 * The windows of the shared limits as they are now: every key of the identity counts in the same ones, so that any of its keys
 * explains them, but for limits of its own under the same names. Undefined where there is no key.
 */
const readWindows = async (
  { externalId, ratelimits }: Identity,
  options: CallOptions,
): Promise<Answer<readonly ExplainedRatelimit[] | undefined>> => {
  const found = await call(searchKeys, { externalId, limit: 1n }, options);
  const [key] = found.message.data;
  if (key === undefined) return { message: undefined, etag: undefined };
  const limits = ratelimits.map(({ name }) => ({ name, cost: 0n }));
  const { message } = await call(explain, { keyId: key.keyId, ratelimits: limits }, options);
  const explained = message.data?.steps.find(({ check }) => check === VerificationCheck.RATELIMITS)?.facts?.ratelimits ?? [];
  return { message: explained.filter(({ source }) => source === RatelimitSource.IDENTITY), etag: undefined };
};

/** Shared limits with their live windows. */
export const SharedLimits = ({ identity }: { readonly identity: Identity }): JSX.Element => {
  const request = { externalId: identity.externalId, limit: 1n };
  const key = `${requestKey(searchKeys, request)} ${identity.ratelimits.map(({ name }) => name).join()}`;
  const windows = useLoad(
    key,
    async (options) => {
      const { message } = await readWindows(identity, options);
      return { message: { windows: message }, etag: undefined };
    },
    { pollEvery: look, unseen: unseenBy(searchKeys) },
  );
  return (
    <section class="section" aria-labelledby="shared-limits">
      <div class="section-header">
        <h2 id="shared-limits">Windows now</h2>
        <CodeDrawer method={searchKeys} request={request} />
      </div>
      <QueryView query={windows} lines={2}>
        {({ windows: rows }) =>
          rows === undefined ? (
            <NoRows>No key that you may read belongs to this identity, so there are no counters.</NoRows>
          ) : (
            <DataTable label="Windows of shared limits" columns={limitColumns} rows={rows} rowKey={({ name }) => name} />
          )
        }
      </QueryView>
    </section>
  );
};
