import type { JSX } from "preact";
import { UsageKind } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { SearchField } from "../../design/forms/SearchField.tsx";
import { SelectField } from "../../design/forms/SelectField.tsx";
import { queryParams, setQueryParams } from "../../router/address.ts";

/** The answers of verifyKey that leave an event (analytics §4). */
const outcomes = ["VALID", "DISABLED", "EXPIRED", "FORBIDDEN", "INSUFFICIENT_PERMISSIONS", "RATE_LIMITED", "USAGE_EXCEEDED"];

/** The filters of one kind do not apply to the other. */
const forgotten = {
  outcome: undefined,
  apiId: undefined,
  keyId: undefined,
  externalId: undefined,
  namespaceId: undefined,
  identifier: undefined,
  tag: undefined,
  passed: undefined,
};

const Choice = ({
  label,
  name,
  options,
}: {
  label: string;
  name: string;
  options: readonly { value: string; label: string }[];
}): JSX.Element => (
  <SelectField
    label={label}
    name={name}
    value={queryParams.value.get(name) ?? ""}
    options={[{ value: "", label: "All" }, ...options]}
    onChange={(value) => setQueryParams({ [name]: value })}
  />
);

/** The chosen events: in the URL, and filtered by the service. */
export const TailFilters = ({ kind }: { readonly kind: UsageKind }): JSX.Element => (
  <div class="filters tail-filters">
    <SelectField
      label="Events"
      name="kind"
      value={kind === UsageKind.RATELIMITS ? "ratelimits" : "verifications"}
      options={[
        { value: "verifications", label: "Verifications" },
        { value: "ratelimits", label: "Limit checks" },
      ]}
      onChange={(value) => setQueryParams({ ...forgotten, kind: value === "ratelimits" ? value : undefined }, { replace: false })}
    />
    {kind === UsageKind.RATELIMITS ? (
      <>
        <Choice
          label="Result"
          name="passed"
          options={[
            { value: "true", label: "passed" },
            { value: "false", label: "denied" },
          ]}
        />
        <SearchField label="Namespace ID" name="namespaceId" placeholder="rlns_…" />
        <SearchField label="Identifier" name="identifier" placeholder="Exact match" />
      </>
    ) : (
      <>
        <Choice label="Outcome" name="outcome" options={outcomes.map((value) => ({ value, label: value }))} />
        <SearchField label="API ID" name="apiId" placeholder="api_…" />
        <SearchField label="Key ID" name="keyId" placeholder="key_…" />
        <SearchField label="External ID" name="externalId" placeholder="Exact match" />
        <SearchField label="Tag" name="tag" placeholder="Exact match" />
      </>
    )}
  </div>
);
