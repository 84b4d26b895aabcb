import type { Fields } from "../../port/applyUpdate.ts";
import type { CollectionName } from "../../port/documents.ts";
import { StoreDamagedError } from "../../port/errors.ts";
import { indexes } from "../../port/indexes.ts";
import { readable } from "../../readable.ts";

const loneSurrogate = /\\ud[89a-f]/i;
const wellFormed = (_: string, value: unknown): unknown => (typeof value === "string" ? value.toWellFormed() : value);

/** What stands in the file for a value: a Date becomes its milliseconds. */
export const toStored = (value: unknown): unknown => (value instanceof Date ? value.getTime() : value);

/** The JSON text of a document. Lone surrogates become U+FFFD, as they do on their way to MongoDB. */
export const toText = (document: Fields): string => {
  const stored: Fields = {};
  for (const field of Object.keys(document)) stored[field] = toStored(document[field]);
  const text = JSON.stringify(stored);
  return loneSurrogate.test(text) ? JSON.stringify(stored, wellFormed) : text;
};

/** The Date field of a collection, if it has one. */
export const expiryField = (collection: CollectionName): string | undefined =>
  indexes.find((index) => index.collection === collection && index.expiry)?.fields[0];

/** The error for a row whose text is no document. */
export const damagedRow = (collection: CollectionName, cause: unknown): StoreDamagedError =>
  new StoreDamagedError(`a row of ${collection} in latchkey.sqlite is damaged; "latchkey doctor" looks through all of it`, { cause });

/** The fields of a document as they are stored. Throws `StoreDamagedError` for a text that is none. */
export const readStored = (collection: CollectionName, text: string): Fields => {
  try {
    return JSON.parse(text) as Fields;
  } catch (error) {
    throw damagedRow(collection, error);
  }
};

/** The inverse of `toText` for documents of one collection. Throws `DocumentTooNewError`, see `readable`. */
export const textDecoder = <D>(collection: CollectionName, ofAnyVersion = false): ((text: string) => D) => {
  const expiry = expiryField(collection);
  const known = ofAnyVersion ? (document: D): D => document : readable<D>(collection);
  if (expiry === undefined) return (text) => known(readStored(collection, text) as D);
  return (text) => {
    const fields = readStored(collection, text);
    if (typeof fields[expiry] === "number") fields[expiry] = new Date(fields[expiry]);
    return known(fields as D);
  };
};
