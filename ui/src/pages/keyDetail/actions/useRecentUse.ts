import { AnalyticsService, UsageGranularity, UsageKind } from "../../../../../gen/latchkey/v2/analytics_pb.ts";
import type { Key } from "../../../../../gen/latchkey/v2/common_pb.ts";
import { useNow } from "../../../data/hooks/useNow.ts";
import { useQuery } from "../../../data/hooks/useQuery.ts";
import { relativeTime } from "../../../design/values/formatTime.ts";

const hour = 3_600_000;

/**
 * Recent use of the key in words: "1,204 verifications in the last 24 hours, the last 3 minutes ago". Without analytics, or the
 * permission to read it, the time of its last use. Undefined while it loads.
 */
export const useRecentUse = ({ keyId, lastUsedAt }: Key): string | undefined => {
  const end = useNow(60_000) + 60_000;
  const request = {
    kind: UsageKind.VERIFICATIONS,
    start: BigInt(end - 24 * hour),
    end: BigInt(end),
    granularity: UsageGranularity.TOTAL,
    filter: { keyId: { values: [keyId] } },
  };
  const usage = useQuery(AnalyticsService.method.getUsage, request, { asOf: end });
  if (usage.loading) return undefined;
  const last = lastUsedAt === undefined ? "never used" : `the last use ${relativeTime(lastUsedAt, Date.now())}`;
  const count = usage.data?.data[0]?.count ?? (usage.data === undefined ? undefined : 0);
  if (typeof count !== "number") return `${last.charAt(0).toUpperCase()}${last.slice(1)}.`;
  return `${count.toLocaleString("en")} ${count === 1 ? "verification" : "verifications"} in the last 24 hours, ${last}.`;
};
