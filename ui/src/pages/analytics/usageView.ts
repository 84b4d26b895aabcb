import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type GetUsageRequestSchema,
  type UsageFilterSchema,
  UsageGranularity,
  UsageKind,
  UsageOrder,
} from "../../../../gen/latchkey/v2/analytics_pb.ts";
import type { TimeRange } from "../../data/figures/timeRange.ts";

/** A dimension to count events by, as `groupBy` of `analytics.getUsage` names it. */
export type Dimension = "outcome" | "apiId" | "keyId" | "externalId" | "tag" | "passed" | "namespaceId" | "identifier";

/** Names of texts that a filter takes. */
export type FilterName = Exclude<Dimension, "passed">;

/** A dimension in words. */
export interface Ranked {
  readonly id: Dimension & FilterName;
  /** "Keys", of the tab; "Key", of the column. */
  readonly plural: string;
  readonly singular: string;
  /** The words for "": "no identity". */
  readonly none: string;
  /** The page of an object, if it has one. */
  readonly page?: (id: string) => string;
}

/** How the page shows the events of one kind. */
export interface EventKind {
  /** `kind` of the query and of the contract. */
  readonly id: "verifications" | "ratelimits";
  readonly kind: UsageKind;
  /** "Verifications". */
  readonly label: string;
  /** The lines of the first chart, with its title. */
  readonly lines: { readonly by: "outcome" | "passed"; readonly title: string };
  /** Percentiles exist for verifications only (management §8). */
  readonly hasLatency: boolean;
  readonly ranked: readonly [Ranked, ...Ranked[]];
  readonly filters: readonly { readonly name: FilterName; readonly label: string }[];
}

const inUi = (page: string) => (id: string) => `/ui/${page}/${encodeURIComponent(id)}`;

export const eventKinds: readonly [EventKind, EventKind] = [
  {
    id: "verifications",
    kind: UsageKind.VERIFICATIONS,
    label: "Verifications",
    lines: { by: "outcome", title: "Verifications by outcome" },
    hasLatency: true,
    ranked: [
      { id: "keyId", plural: "Keys", singular: "Key", none: "–", page: inUi("keys") },
      { id: "apiId", plural: "APIs", singular: "API", none: "–", page: inUi("apis") },
      { id: "externalId", plural: "Identities", singular: "Identity", none: "no identity", page: inUi("identities") },
      { id: "tag", plural: "Tags", singular: "Tag", none: "no tag" },
    ],
    filters: [
      { name: "apiId", label: "API ID" },
      { name: "keyId", label: "Key ID" },
      { name: "externalId", label: "External ID" },
      { name: "tag", label: "Tag" },
      { name: "outcome", label: "Outcome" },
    ],
  },
  {
    id: "ratelimits",
    kind: UsageKind.RATELIMITS,
    label: "Rate limit checks",
    lines: { by: "passed", title: "Rate limit checks by result" },
    hasLatency: false,
    ranked: [
      { id: "identifier", plural: "Identifiers", singular: "Identifier", none: "–" },
      { id: "namespaceId", plural: "Namespaces", singular: "Namespace", none: "–", page: inUi("limits") },
    ],
    filters: [
      { name: "namespaceId", label: "Namespace ID" },
      { name: "identifier", label: "Identifier" },
    ],
  },
];

/** The kind of a query; verifications unless it says otherwise. */
export const readEventKind = (query: URLSearchParams): EventKind => eventKinds.find(({ id }) => id === query.get("kind")) ?? eventKinds[0];

/** The filters of a query, by their names: `keyId=key_1`. */
export type UsageFilters = Readonly<Partial<Record<FilterName, string>>>;

/** Those of a query that the kind has. */
export const readFilters = (query: URLSearchParams, { filters }: EventKind): UsageFilters =>
  Object.fromEntries(filters.flatMap(({ name }) => (query.get(name) ? [[name, query.get(name)]] : [])));

const filterOf = (filters: UsageFilters): MessageInitShape<typeof UsageFilterSchema> =>
  Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, { values: [value] }]));

type UsageRequest = MessageInitShape<typeof GetUsageRequestSchema>;

/** The request for lines over time. @param by undefined: all events together */
export const overTime = ({ kind }: EventKind, range: TimeRange, filters: UsageFilters, by?: Dimension): UsageRequest => ({
  kind,
  ...range,
  filter: filterOf(filters),
  groupBy: by === undefined ? [] : [by],
});

/** How many groups a ranking shows. */
export const rankedGroups = 20;

/** The request for a ranking over the whole range, most events first. */
export const ranking = ({ kind }: EventKind, { start, end }: TimeRange, filters: UsageFilters, by: Dimension): UsageRequest => ({
  kind,
  start,
  end,
  granularity: UsageGranularity.TOTAL,
  filter: filterOf(filters),
  groupBy: [by],
  orderBy: UsageOrder.COUNT,
  limit: BigInt(rankedGroups),
});
