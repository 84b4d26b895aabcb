import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { LazyChart } from "../../../design/charts/LazyChart.tsx";
import { ShareBar } from "../../../design/charts/ShareBar.tsx";
import { type Column, DataTable } from "../../../design/tables/DataTable.tsx";
import { Int64 } from "../../../design/values/Int64.tsx";
import { CountersLink } from "../identifiers/identifierLinks.tsx";
import type { Denials, Replay } from "./replay.ts";

type Row = Denials & { readonly identifier: string };

const columns = (namespaceId: string, most: number): readonly Column<Row>[] => [
  {
    id: "identifier",
    label: "Identifier",
    narrow: true,
    cell: ({ identifier }) => <CountersLink namespaceId={namespaceId} identifier={identifier} />,
  },
  {
    id: "share",
    label: "Passed and denied",
    cell: ({ checks, deniedNow }) => <ShareBar part={deniedNow} rest={checks - deniedNow} most={most} />,
  },
  { id: "checks", label: "Checks", number: true, cell: ({ checks }) => <Int64 value={checks} /> },
  { id: "deniedThen", label: "Denied then", number: true, narrow: true, cell: ({ deniedThen }) => <Int64 value={deniedThen} /> },
  { id: "deniedNow", label: "With this limit", number: true, narrow: true, cell: ({ deniedNow }) => <Int64 value={deniedNow} /> },
];

const count = (value: number): string => value.toLocaleString("en");

/** The identifiers that would have been denied, over time and by identifier. */
export const WhatIfResult = ({ namespaceId, result }: { readonly namespaceId: string; readonly result: Replay }): JSX.Element => {
  const { checks, deniedThen, deniedNow, identifiers, minutes } = result;
  const lines = useMemo(
    () => ({
      times: minutes.map(({ time }) => time),
      series: [
        { name: "denied then", values: minutes.map((each) => each.deniedThen) },
        { name: "denied with this limit", values: minutes.map((each) => each.deniedNow) },
      ],
    }),
    [result],
  );
  const hit = identifiers.filter((each) => each.deniedNow > 0).length;
  const most = Math.max(...identifiers.map((each) => each.checks));
  return (
    <>
      <p class="verdict" role="status">
        <strong>
          {count(deniedNow)} of {count(checks)} checks denied
        </strong>{" "}
        ({((100 * deniedNow) / checks).toFixed(1)} %), of {count(hit)} of {count(identifiers.length)} identifiers. As it happened:{" "}
        {count(deniedThen)}.
      </p>
      <LazyChart title="Denied checks per minute" {...lines} />
      <DataTable
        label="Identifiers that would have been denied"
        columns={columns(namespaceId, most)}
        rows={identifiers}
        rowKey={({ identifier }) => identifier}
      />
    </>
  );
};
