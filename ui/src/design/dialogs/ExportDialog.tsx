import type { JsonObject } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { CallOptions } from "../../data/calls/call.ts";
import { type CallError, readCallError } from "../../data/calls/callError.ts";
import type { FileFormat } from "../../data/files/fileText.ts";
import { saveFile } from "../../data/files/saveFile.ts";
import { Button } from "../actions/Button.tsx";
import { RadioGroup } from "../forms/RadioGroup.tsx";
import { announce } from "../states/announcements.ts";
import { ErrorNote } from "../states/ErrorNote.tsx";
import { Dialog } from "./Dialog.tsx";

export interface ExportDialogProps {
  /** "Export the audit log". */
  readonly title: string;
  /** Name of the file without its ending. */
  readonly fileName: string;
  /** One sentence: what the file will hold. */
  readonly children: string;
  /** Reads all rows by calls with these options. @param onProgress takes the number of rows so far */
  readonly load: (options: CallOptions, onProgress: (rows: number) => void) => Promise<readonly JsonObject[]>;
  readonly onClose: () => void;
}

const formats: readonly FileFormat[] = ["CSV", "NDJSON"];

/** Saves rows as CSV or NDJSON. The service asks for the root key again (console §2.4). */
export const ExportDialog = ({ title, fileName, children, load, onClose }: ExportDialogProps): JSX.Element => {
  const [format, setFormat] = useState<FileFormat>("CSV");
  const [rows, setRows] = useState<number>();
  const [error, setError] = useState<CallError>();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const save = async (): Promise<void> => {
    const abort = new AbortController();
    running.current = abort;
    setError(undefined);
    setRows(0);
    try {
      const found = await load({ signal: abort.signal, export: true }, setRows);
      const name = saveFile(fileName, format, found);
      announce(`Saved ${found.length.toLocaleString("en")} rows as ${name}.`);
      onClose();
    } catch (thrown) {
      if (!abort.signal.aborted) setError(readCallError(thrown));
    } finally {
      setRows(undefined);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{children}</p>
      <RadioGroup
        label="Format"
        name="format"
        value={format}
        options={formats.map((value) => ({ value, label: value }))}
        onChange={setFormat}
      />
      {error !== undefined && <ErrorNote error={error} />}
      <p class="quiet" role="status">
        {rows === undefined ? "" : `${rows.toLocaleString("en")} rows so far`}
      </p>
      <div class="actions">
        <Button kind="primary" pending={rows !== undefined} onClick={() => void save()} autofocus>
          Download
        </Button>
        {rows !== undefined && <Button onClick={() => running.current?.abort()}>Stop</Button>}
      </div>
    </Dialog>
  );
};
