import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { readDuration, readInteger } from "../../../data/readInput.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { DurationField } from "../../../design/forms/DurationField.tsx";
import { Field } from "../../../design/forms/Field.tsx";
import { TextField } from "../../../design/forms/TextField.tsx";
import { EmptyState } from "../../../design/states/EmptyState.tsx";
import { Skeleton } from "../../../design/states/Skeleton.tsx";
import { formatDuration } from "../../../design/values/formatDuration.ts";
import { queryParams, setQueryParams } from "../../../router/address.ts";
import type { OverrideDraft } from "../overrides/overrideDraft.ts";
import { checksOf, type JudgedCheck, mostFrequent, usualDuration } from "./checkEvents.ts";
import { useReplay } from "./useReplay.ts";
import { WhatIfResult } from "./WhatIfResult.tsx";

export interface WhatIfFormProps {
  readonly namespaceId: string;
  /** At least one. */
  readonly events: readonly JudgedCheck[];
  /** Why no override may be set. */
  readonly forbidden: string | undefined;
  readonly onOverride: (draft: OverrideDraft) => void;
}

const within = (read: bigint | undefined | "invalid", least: number): number | undefined =>
  typeof read === "bigint" && read >= least && read <= Number.MAX_SAFE_INTEGER ? Number(read) : undefined;

/** Tries a limit out on checks; what is tried is in the URL. */
export const WhatIfForm = ({ namespaceId, events, forbidden, onOverride }: WhatIfFormProps): JSX.Element => {
  const query = queryParams.value;
  // The most frequent duration, until the person chooses another one.
  const usual = useMemo(() => usualDuration(events), [events]);
  const usualLimit = useMemo(() => mostFrequent(events.map((event) => event.limit)) ?? 10, [events]);
  const [identifier, setIdentifier] = useState(query.get("pattern") ?? "*");
  const [limit, setLimit] = useState(query.get("limit") ?? String(usualLimit));
  const [duration, setDuration] = useState(query.get("duration") ?? String(usual));
  // The slider keeps its length while the person drags it.
  const [longest] = useState(() => Math.max(20, 3 * Math.max(usualLimit, within(readInteger(limit), 0) ?? 0)));
  const matching = useMemo(() => checksOf(events, identifier), [events, identifier]);
  const tried = { limit: within(readInteger(limit), 0) ?? usualLimit, duration: within(readDuration(duration), 1000) ?? usual };
  const result = useReplay(matching, tried);

  const show = (): void => {
    setQueryParams({
      pattern: identifier === "*" ? undefined : identifier,
      limit: tried.limit === usualLimit ? undefined : String(tried.limit),
      duration: tried.duration === usual ? undefined : String(tried.duration),
    });
  };
  return (
    <>
      {/* What was chosen goes to the URL when the field is left, or the slider let go. */}
      <form
        class="what-if"
        novalidate
        onChange={show}
        onSubmit={(event) => {
          event.preventDefault();
          show();
        }}
      >
        <Field label="Limit" name="limit" hint={`${tried.limit.toLocaleString("en")} per ${formatDuration(tried.duration)}`}>
          {(input) => (
            <input
              {...input}
              type="range"
              class="slider"
              min="0"
              max={longest}
              value={Math.min(tried.limit, longest)}
              aria-valuetext={tried.limit.toLocaleString("en")}
              onInput={(event) => setLimit(event.currentTarget.value)}
            />
          )}
        </Field>
        <div class="field-row">
          <TextField
            label="Exactly"
            name="limit.exact"
            value={limit}
            onChange={setLimit}
            error={within(readInteger(limit), 0) === undefined ? "A whole number." : undefined}
          />
          <DurationField label="Window" name="duration" value={duration} onChange={setDuration} />
          <TextField label="Identifiers" name="pattern" value={identifier} onChange={setIdentifier} hint="Literal or a pattern with *." />
        </div>
        <div class="actions">
          <Button
            disabledBecause={forbidden}
            onClick={() => onOverride({ identifier, limit: String(tried.limit), duration: String(tried.duration) })}
          >
            Set as override
          </Button>
          <Button
            kind="plain"
            onClick={() => {
              setIdentifier("*");
              setLimit(String(usualLimit));
              setDuration(String(usual));
              setQueryParams({ pattern: undefined, limit: undefined, duration: undefined });
            }}
          >
            Actual
          </Button>
        </div>
      </form>
      {matching.length === 0 ? (
        <EmptyState>No identifier that was checked in the last hour matches.</EmptyState>
      ) : result === undefined || result.checks === 0 ? (
        <Skeleton lines={8} />
      ) : (
        <WhatIfResult namespaceId={namespaceId} result={result} />
      )}
    </>
  );
};
