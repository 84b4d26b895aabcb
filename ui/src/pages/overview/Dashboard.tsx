import type { JSX } from "preact";
import { useNow } from "../../data/hooks/useNow.ts";
import { Int64 } from "../../design/values/Int64.tsx";
import { Time } from "../../design/values/Time.tsx";
import { AttentionPanel } from "./AttentionPanel.tsx";
import { byCredits, bySoonest } from "./attention.ts";
import { NowPanel } from "./NowPanel.tsx";
import { TrafficPanel } from "./TrafficPanel.tsx";

const hour = 3_600_000;
const week = 7 * 24 * hour;

/** Fewer credits than this are few. */
const fewCredits = 100n;

/** Present activity, and objects that will need attention soon. */
export const Dashboard = (): JSX.Element => {
  const asOf = useNow(hour);
  const expiresBefore = BigInt(asOf + week);
  return (
    <div class="panels overview">
      <NowPanel />
      <TrafficPanel />
      <AttentionPanel
        title="Keys that expire within 7 days"
        request={{ enabled: true, expiresBefore, limit: 100n }}
        asOf={asOf}
        order={bySoonest}
        column="Expires"
        cell={({ expires }) => <Time at={expires} relative />}
        none="No key expires within 7 days."
      />
      <AttentionPanel
        title={`Keys with fewer than ${fewCredits} credits`}
        request={{ enabled: true, creditsBelow: fewCredits, limit: 100n }}
        asOf={asOf}
        order={byCredits}
        column="Credits"
        cell={({ credits }) => (
          <>
            <Int64 value={credits?.remaining ?? 0n} />
            {credits?.refill !== undefined && <span class="quiet"> and a refill</span>}
          </>
        )}
        none={`No key has fewer than ${fewCredits} credits.`}
      />
    </div>
  );
};
