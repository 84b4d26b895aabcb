import type { OutgoingHttpHeaders } from "node:http";

/** Adds names and values, given in turns, to headers or trailers. What comes more than once keeps all its values. */
export const addFields = <F extends OutgoingHttpHeaders>(target: F, fields: readonly string[] = [], prefix = ""): F => {
  const headers: OutgoingHttpHeaders = target;
  for (let i = 0; i < fields.length; i += 2) {
    const name = prefix + (fields[i] as string).toLowerCase();
    const value = fields[i + 1] as string;
    const known = headers[name];
    if (known === undefined) headers[name] = value;
    else if (Array.isArray(known)) known.push(value);
    else headers[name] = [String(known), value];
  }
  return target;
};

/** The values that a name (in small letters) has among raw headers, names and values in turns. */
export const valuesOf = (rawHeaders: readonly string[], name: string): string[] =>
  rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);

/** A header as one text: several of one name are joined with a comma. */
export const headerText = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join(", ") : header;
