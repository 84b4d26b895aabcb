import { type JsonObject, toJson } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Key, KeySchema, type Pagination } from "../../../../gen/latchkey/v2/common_pb.ts";
import type { CallOptions } from "../../data/calls/call.ts";
import { Button } from "../actions/Button.tsx";
import { lazyPart } from "../states/lazyPart.tsx";

const ExportDialog = lazyPart(async () => (await import("../dialogs/ExportDialog.tsx")).ExportDialog, 0);

/** A page of keys, of whichever procedure lists them. */
export interface KeyPage {
  readonly data: readonly Key[];
  readonly pagination?: Pagination | undefined;
}

export interface ExportKeysProps {
  /** Name of the file without its ending. */
  readonly fileName: string;
  /** One sentence: which keys the file will hold. */
  readonly children: string;
  /** Reads a page with these options. @param cursor empty for the first */
  readonly readPage: (cursor: string, options: CallOptions) => Promise<KeyPage>;
}

const readAll = async (
  readPage: ExportKeysProps["readPage"],
  options: CallOptions,
  onProgress: (rows: number) => void,
): Promise<readonly JsonObject[]> => {
  const rows: JsonObject[] = [];
  let cursor: string | undefined = "";
  while (cursor !== undefined) {
    const { data, pagination }: KeyPage = await readPage(cursor, options);
    // A message is an object in JSON.
    rows.push(...data.map((key) => toJson(KeySchema, key) as JsonObject));
    onProgress(rows.length);
    cursor = pagination?.cursor;
  }
  return rows;
};

/** Saves all keys of a list as a file, after the root key was entered again (console §2.4). */
export const ExportKeys = ({ fileName, children, readPage }: ExportKeysProps): JSX.Element => {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Export</Button>
      {open && (
        <ExportDialog
          title="Export keys"
          fileName={fileName}
          load={(options, onProgress) => readAll(readPage, options, onProgress)}
          onClose={() => setOpen(false)}
        >
          {children}
        </ExportDialog>
      )}
    </>
  );
};
