import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { AnalyticsService, type GetUsageRequestSchema } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { saveFile } from "../../data/files/saveFile.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { announce } from "../../design/states/announcements.ts";
import { sqlAddress } from "./usageSql.ts";

export interface FigureActionsProps {
  /** Of the figure: "Verifications by outcome". */
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

/** What can be done with a figure: its question as SQL and as code, its numbers as CSV. */
export const FigureActions = ({ title, request, sql, view, rows }: FigureActionsProps): JSX.Element => {
  // What is on the page anyway needs no root key: exports are those of console §2.4.
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
