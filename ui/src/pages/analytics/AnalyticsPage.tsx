import type { JSX } from "preact";
import { readRange } from "../../data/figures/timeRange.ts";
import { useNow } from "../../data/hooks/useNow.ts";
import { Button } from "../../design/actions/Button.tsx";
import { RangeField } from "../../design/forms/RangeField.tsx";
import { SearchField } from "../../design/forms/SearchField.tsx";
import { SelectField } from "../../design/forms/SelectField.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { Tabs } from "../../design/navigation/Tabs.tsx";
import { queryParams, setQueryParams } from "../../router/address.ts";
import { usePageCommands } from "../../router/pageCommands.ts";
import { Lines } from "./Lines.tsx";
import { Ranking } from "./Ranking.tsx";
import { eventKinds, readEventKind, readFilters } from "./usageView.ts";
import "./analytics.css";

/** Kinds share no filter and no tab. */
const chooseKind = (kind: string): void => {
  const ofKinds = eventKinds.flatMap(({ filters }) => filters.map(({ name }) => [name, undefined] as const));
  setQueryParams({ ...Object.fromEntries(ofKinds), tab: undefined, kind: kind === eventKinds[0].id ? undefined : kind });
};

/** `/ui/analytics`: what happened, over time and by what it happened to. */
export const Page = (): JSX.Element => {
  const now = useNow(60_000);
  const kind = readEventKind(queryParams.value);
  const range = readRange(queryParams.value, now);
  const filters = readFilters(queryParams.value, kind);
  const other = eventKinds.find((each) => each !== kind) ?? eventKinds[0];
  usePageCommands([{ label: `Show ${other.label.toLowerCase()}`, run: () => chooseKind(other.id) }]);
  const brushed = queryParams.value.has("start");
  return (
    <PageFrame title="Analytics">
      <div class="filters many">
        <SelectField
          label="Events"
          name="kind"
          value={kind.id}
          options={eventKinds.map(({ id, label }) => ({ value: id, label }))}
          onChange={chooseKind}
        />
        <RangeField />
        {kind.filters.map(({ name, label }) => (
          <SearchField key={name} label={label} name={name} />
        ))}
        {brushed && <Button onClick={() => setQueryParams({ start: undefined, end: undefined })}>Reset zoom</Button>}
      </div>
      <Lines kind={kind} range={range} filters={filters} asOf={now} />
      <section class="section" aria-label="Most events">
        <Tabs
          label="Most events"
          tabs={kind.ranked.map((by) => ({
            id: by.id,
            label: by.plural,
            content: () => <Ranking kind={kind} range={range} filters={filters} asOf={now} by={by} />,
          }))}
        />
      </section>
    </PageFrame>
  );
};
