import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { AnalyticsService, type GetUsageRequestSchema } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { saveFile } from "../../data/files/saveFile.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { announce } from "../../design/states/announcements.ts";
import { sqlAddress } from "./usageSql.ts";

export interface FigureActionsProps {
  /** Title of the figure: "Verifications by outcome". */
  readonly title: string;
  readonly request: MessageInitShape<typeof GetUsageRequestSchema>;
  /** The same question as SQL, and how its answer is looked at. */
  readonly sql: string;
  readonly view: "table" | "chart";
  readonly rows: readonly JsonObject[];
}

/** `time` as a spreadsheet reads it. */
const dated = ({ time, ...row }: JsonObject): JsonObject => ({
  ...(typeof time === "number" ? { time: new Date(time).toISOString() } : {}),
  ...row,
});

/** Shows a figure's query as SQL and as code, and saves its numbers as CSV. */
export const FigureActions = ({ title, request, sql, view, rows }: FigureActionsProps): JSX.Element => {
  // The page shows these numbers anyway, so saving them needs no root key: the exports of console §2.4 are others.
  const save = (): void => announce(`Saved ${saveFile(title.toLowerCase().replaceAll(" ", "-"), "CSV", rows.map(dated))}.`);
  return (
    <div class="actions">
      <a class="button" href={sqlAddress(sql, view)} aria-label={`Open as SQL: ${title}`}>
        Open as SQL
      </a>
      <Button onClick={save} label={`CSV: ${title}`}>
        CSV
      </Button>
      <CodeDrawer method={AnalyticsService.method.getUsage} request={request} />
    </div>
  );
};
