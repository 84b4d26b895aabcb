import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { RefillInterval } from "../../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { instantAfter } from "../../../../../src/features/keys/refill.ts";
import { missingReason } from "../../../data/access/missingReason.ts";
import { refillText } from "../../../data/drafts/refillDraft.ts";
import { useNow } from "../../../data/hooks/useNow.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { lazyPart } from "../../../design/states/lazyPart.tsx";
import { Int64 } from "../../../design/values/Int64.tsx";
import { Time } from "../../../design/values/Time.tsx";
import type { KeyTabProps } from "../useKey.ts";

const ChangeCredits = lazyPart(async () => (await import("./ChangeCredits.tsx")).ChangeCredits, 0);

/** Balance and refill of a key. */
export const CreditsSection = (props: KeyTabProps): JSX.Element => {
  const [changing, setChanging] = useState(false);
  const { stored, api } = props;
  const now = useNow(60_000);
  const refill = stored.credits?.refill;
  const next =
    refill === undefined
      ? undefined
      : instantAfter(
          {
            interval: refill.interval === RefillInterval.MONTHLY ? "monthly" : "daily",
            amount: Number(refill.amount),
            ...(refill.refillDay === undefined ? {} : { refillDay: Number(refill.refillDay) }),
          },
          now,
        );
  return (
    <section class="section" aria-labelledby="key-credits">
      <div class="section-header">
        <h2 id="key-credits">Credits</h2>
        <Button
          onClick={() => setChanging(true)}
          disabledBecause={missingReason(KeysService.method.updateCredits, api === undefined ? {} : { api_id: api.id })}
        >
          Change balance
        </Button>
      </div>
      <p class="key-figure">{stored.credits === undefined ? "Unlimited" : <Int64 value={stored.credits.remaining} />}</p>
      {refill !== undefined && (
        <p>
          Refill: {refillText(refill)}. The next one <Time at={next} relative /> (<Time at={next} />
          ).
        </p>
      )}
      {stored.credits !== undefined && refill === undefined && <p class="quiet">No refill.</p>}
      {changing && <ChangeCredits {...props} onClose={() => setChanging(false)} />}
    </section>
  );
};
