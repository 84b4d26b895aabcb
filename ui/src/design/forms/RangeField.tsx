import type { JSX } from "preact";
import { namedRanges } from "../../data/figures/timeRange.ts";
import { queryParams, setQueryParams } from "../../router/address.ts";
import { SelectField } from "./SelectField.tsx";

/** Chooses the time range, which is in the URL; a brushed one is shown as such. */
export const RangeField = (): JSX.Element => {
  const brushed = queryParams.value.has("start");
  return (
    <SelectField
      label="Time range"
      name="range"
      value={brushed ? "brushed" : (queryParams.value.get("range") ?? namedRanges[0].value)}
      options={[...namedRanges, ...(brushed ? [{ value: "brushed", label: "As chosen in the chart" }] : [])]}
      onChange={(range) => setQueryParams({ range: range === namedRanges[0].value ? undefined : range, start: undefined, end: undefined })}
    />
  );
};
