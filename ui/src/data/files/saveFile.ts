import type { JsonObject } from "@bufbuild/protobuf";
import { type FileFormat, fileText } from "./fileText.ts";

const types: Readonly<Record<FileFormat, string>> = { CSV: "text/csv;charset=utf-8", NDJSON: "application/x-ndjson" };

/** Saves rows as a file of the person's device. @param name "audit": the ending follows from the format @returns the file's name */
export const saveFile = (name: string, format: FileFormat, rows: readonly JsonObject[]): string => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([fileText(format, rows)], { type: types[format] }));
  link.download = `${name}.${format.toLowerCase()}`;
  link.click();
  // The browser reads it when it has begun to save.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  return link.download;
};
