import type { JSX } from "preact";
import { AnalyticsService } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { Int64 } from "../../design/values/Int64.tsx";
import { Time } from "../../design/values/Time.tsx";

/** The rest of the quota that all queries share (management §6). @param runs the number of queries of this page: each one uses quota */
export const QuotaNote = ({ runs }: { readonly runs: number }): JSX.Element | null => {
  const { data } = useQuery(AnalyticsService.method.getQuota, {}, { pollEvery: 30_000, refresh: runs });
  const quota = data?.data;
  if (quota === undefined) return null;
  return (
    <p class="quiet">
      Left for everybody: <Int64 value={quota.queriesLeft} /> queries and <Int64 value={quota.secondsLeft} /> seconds, until{" "}
      <Time at={quota.resetsAt} />.
    </p>
  );
};
