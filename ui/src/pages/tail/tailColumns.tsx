import type { JsonValue } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import type { Column } from "../../design/tables/DataTable.tsx";
import { Int64 } from "../../design/values/Int64.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import { Time } from "../../design/values/Time.tsx";
import type { TailEvent } from "./tailEvents.ts";

const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

const number = (value: JsonValue | undefined): number => (typeof value === "number" ? value : 0);

const none = <span class="quiet">–</span>;

const code = (value: JsonValue | undefined): JSX.Element => (text(value) === "" ? none : <code>{text(value)}</code>);

const milliseconds = (value: JsonValue | undefined): string => `${number(value).toLocaleString("en", { maximumFractionDigits: 2 })} ms`;

const link = (path: string, id: JsonValue | undefined): JSX.Element =>
  text(id) === "" ? none : <a href={`${path}/${encodeURIComponent(text(id))}`}>{text(id)}</a>;

const time: Column<TailEvent> = {
  id: "time",
  label: "Time",
  narrow: true,
  cell: ({ columns }) => <Time at={number(columns.time)} clock />,
};

const latency: Column<TailEvent> = {
  id: "latency",
  label: "Latency",
  number: true,
  optional: true,
  cell: ({ columns }) => milliseconds(columns.latency),
};

const requestId: Column<TailEvent> = {
  id: "requestId",
  label: "Request",
  optional: true,
  cell: ({ columns }) => code(columns.request_id),
};

/** Columns of verifications; a row opens what explains its key. */
export const verificationColumns: readonly Column<TailEvent>[] = [
  time,
  {
    id: "explain",
    label: "Why",
    narrow: true,
    cell: ({ columns }) => (
      <a href={`/ui/keys/${encodeURIComponent(text(columns.key_id))}?tab=explain`} aria-label={`Explain ${text(columns.key_id)}`}>
        Explain
      </a>
    ),
  },
  { id: "outcome", label: "Outcome", narrow: true, cell: ({ columns }) => <OutcomeBadge outcome={text(columns.outcome)} /> },
  { id: "keyId", label: "Key", cell: ({ columns }) => code(columns.key_id) },
  { id: "apiId", label: "API", cell: ({ columns }) => link("/ui/apis", columns.key_space_id) },
  { id: "externalId", label: "Identity", cell: ({ columns }) => code(columns.external_id) },
  {
    id: "tags",
    label: "Tags",
    cell: ({ columns }) => (Array.isArray(columns.tags) && columns.tags.length > 0 ? columns.tags.map(text).join(", ") : none),
  },
  {
    id: "spentCredits",
    label: "Credits",
    number: true,
    optional: true,
    cell: ({ columns }) => <Int64 value={number(columns.spent_credits)} />,
  },
  latency,
  { id: "region", label: "Region", optional: true, cell: ({ columns }) => code(columns.region) },
  requestId,
];

/** Columns of limit checks; a row opens its namespace, at the counters of its identifier. */
export const checkColumns: readonly Column<TailEvent>[] = [
  time,
  {
    id: "passed",
    label: "Result",
    narrow: true,
    cell: ({ columns }) => <OutcomeBadge outcome={columns.passed === true ? "passed" : "denied"} />,
  },
  {
    id: "identifier",
    label: "Identifier",
    narrow: true,
    cell: ({ columns }) => (
      <a
        href={`/ui/limits/${encodeURIComponent(text(columns.namespace_id))}?tab=identifiers&identifier=${encodeURIComponent(text(columns.identifier))}`}
      >
        {text(columns.identifier)}
      </a>
    ),
  },
  { id: "namespaceId", label: "Namespace", cell: ({ columns }) => link("/ui/limits", columns.namespace_id) },
  { id: "cost", label: "Cost", number: true, cell: ({ columns }) => <Int64 value={number(columns.tokens)} /> },
  {
    id: "remaining",
    label: "Left",
    number: true,
    cell: ({ columns }) => `${number(columns.remaining).toLocaleString("en")} of ${number(columns.limit).toLocaleString("en")}`,
  },
  { id: "override", label: "Override", cell: ({ columns }) => code(columns.override_id) },
  latency,
  requestId,
];
