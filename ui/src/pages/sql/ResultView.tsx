import type { JsonObject } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { columnNames } from "../../data/files/fileText.ts";
import { BarList } from "../../design/charts/BarList.tsx";
import { LazyChart } from "../../design/charts/LazyChart.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { cellText, resultChart } from "./resultShape.ts";

const ResultTable = ({ rows }: { readonly rows: readonly JsonObject[] }): JSX.Element => {
  const names = columnNames(rows);
  const isNumber = (name: string): boolean => rows.every((row) => row[name] === null || typeof row[name] === "number");
  const columns = names.map(
    (name): Column<{ readonly row: JsonObject }> => ({
      id: name,
      label: name,
      narrow: true,
      ...(isNumber(name) ? { number: true } : {}),
      cell: ({ row }) => cellText(row[name]),
    }),
  );
  const numbered = rows.map((row, index) => ({ row, index }));
  return (
    <DataTable key={names.join()} label="Result" columns={columns} rows={numbered} rowKey={({ index }) => String(index)} columnsFixed />
  );
};

const ResultChart = ({ rows }: { readonly rows: readonly JsonObject[] }): JSX.Element => {
  const chart = useMemo(() => resultChart(rows), [rows]);
  if (chart === undefined) return <EmptyState>A chart needs a column of times or of names, and one of numbers.</EmptyState>;
  if (chart.kind === "lines") return <LazyChart title="Result over time" times={chart.times} series={chart.series} />;
  const bars = chart.bars.map(({ name, value }, index) => ({ key: `${index} ${name}`, name, value }));
  return <BarList title="Result by name" names={chart.names} values={chart.values} bars={bars} />;
};

/** The rows of a query. @param view as the URL has it */
export const ResultView = ({ rows, view }: { readonly rows: readonly JsonObject[]; readonly view: "table" | "chart" }): JSX.Element => {
  if (rows.length === 0) return <EmptyState>The query found no rows.</EmptyState>;
  return view === "chart" ? <ResultChart rows={rows} /> : <ResultTable rows={rows} />;
};
