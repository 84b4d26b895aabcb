import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { unseenBy } from "../../data/access/unseen.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { ExportDialog } from "../../design/dialogs/ExportDialog.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { Tabs } from "../../design/navigation/Tabs.tsx";
import { announce } from "../../design/states/announcements.ts";
import { QueryView } from "../../design/states/QueryView.tsx";
import { queryParams, setQueryParams } from "../../router/address.ts";
import { usePageCommands } from "../../router/pageCommands.ts";
import { HistoryList } from "./HistoryList.tsx";
import { QuotaNote } from "./QuotaNote.tsx";
import { ResultView } from "./ResultView.tsx";
import { SqlEditor } from "./SqlEditor.tsx";
import { TableList } from "./TableList.tsx";
import { ask, methodOf, type QueryRun, useQueryRun } from "./useQueryRun.ts";
import "./sql.css";

const example = `SELECT outcome, count() AS count
FROM key_verifications_v1
WHERE time >= now() - INTERVAL 1 DAY
GROUP BY outcome
ORDER BY count DESC`;

const Result = ({ latest, again }: { readonly latest: QueryRun; readonly again: () => void }): JSX.Element => {
  const [exporting, setExporting] = useState(false);
  const { query, rows, took } = latest;
  return (
    <section class="section" aria-label="Result of the query">
      <QueryView query={{ data: rows, error: latest.error, reload: again, unseen: unseenBy(methodOf(query)) }}>
        {(found) => (
          <>
            <div class="actions">
              <p role="status">
                {found.length.toLocaleString("en")} {found.length === 1 ? "row" : "rows"} in {took?.toLocaleString("en")} ms
              </p>
              <Button onClick={() => setExporting(true)}>Export</Button>
            </div>
            <Tabs
              label="Result as"
              parameter="view"
              tabs={[
                { id: "table", label: "Table", content: () => <ResultView rows={found} view="table" /> },
                { id: "chart", label: "Chart", content: () => <ResultView rows={found} view="chart" /> },
              ]}
            />
          </>
        )}
      </QueryView>
      {exporting && (
        <ExportDialog
          title="Export the result"
          fileName="query"
          load={(options) => ask(query, options)}
          onClose={() => setExporting(false)}
        >
          The query runs again, and its rows are saved as a file.
        </ExportDialog>
      )}
    </section>
  );
};

/** `/ui/sql`: read-only SQL over the events. */
export const Page = (): JSX.Element => {
  const given = queryParams.value.get("query") ?? "";
  const [text, setText] = useState(given || example);
  // Another text from outside is another editor.
  const [editor, setEditor] = useState({ initial: text, version: 0 });
  const [runs, setRuns] = useState(0);
  const { latest, running, run, cancel } = useQueryRun();
  const replaceText = (query: string): void => {
    setText(query);
    setEditor(({ version }) => ({ initial: query, version: version + 1 }));
  };
  // The browser's buttons go from query to query.
  useEffect(() => {
    if (given !== "" && given !== text) replaceText(given);
  }, [given]);
  const start = async (query: string): Promise<void> => {
    if (query !== given) setQueryParams({ query }, { replace: false });
    await run(query);
    setRuns((count) => count + 1);
  };
  usePageCommands([{ label: "Run the query", run: () => void start(text) }]);
  return (
    <PageFrame title="SQL">
      <SqlEditor key={editor.version} initial={editor.initial} onChange={setText} onRun={() => void start(text)} />
      <div class="actions">
        <Button kind="primary" pending={running} onClick={() => void start(text)}>
          Run
        </Button>
        {running && (
          <Button
            onClick={() => {
              cancel();
              announce("Cancelled.");
            }}
          >
            Cancel
          </Button>
        )}
        <CodeDrawer method={methodOf(text)} request={{ query: text }} />
        <span class="quiet">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd> runs, <kbd>Ctrl</kbd> <kbd>Space</kbd> completes
        </span>
      </div>
      <QuotaNote runs={runs} />
      <TableList />
      {latest !== undefined && (latest.rows !== undefined || latest.error !== undefined) && (
        <Result key={latest.query} latest={latest} again={() => void start(latest.query)} />
      )}
      <HistoryList onUse={replaceText} />
    </PageFrame>
  );
};
