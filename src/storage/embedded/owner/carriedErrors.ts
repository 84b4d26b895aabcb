import {
  DocumentTooNewError,
  DuplicateKeyError,
  StoreDamagedError,
  StoreOverloadedError,
  StoreUnavailableError,
} from "../../port/errors.ts";
import { SchemaTooNewError } from "../../schemaVersion.ts";

/** An error on its way to another process. */
export interface CarriedError {
  readonly name: string;
  readonly message: string;
  /** What else there is of it by itself, such as `outcomeUnknown`. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Those that somebody tells from others. */
const classes = [
  DuplicateKeyError,
  StoreUnavailableError,
  StoreDamagedError,
  DocumentTooNewError,
  StoreOverloadedError,
  SchemaTooNewError,
  TypeError,
] as const;

const isPlain = (value: unknown): boolean => ["string", "number", "boolean"].includes(typeof value);

export const carryError = (error: unknown): CarriedError => {
  if (!(error instanceof Error)) return { name: "Error", message: String(error), fields: {} };
  const fields = Object.entries(error).filter(([name, value]) => name !== "name" && isPlain(value));
  return { name: error.name, message: error.message, fields: Object.fromEntries(fields) };
};

/** The same error as the other process had it, thrown here. */
export const receiveError = ({ name, message, fields }: CarriedError): Error => {
  const error = Object.assign(new Error(message), { ...fields, name });
  const found = classes.find((candidate) => candidate.name === name);
  return found === undefined ? error : Object.setPrototypeOf(error, found.prototype);
};
