import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoDriverError,
  MongoError,
  MongoExpiredSessionError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
} from "mongodb";
import { DuplicateKeyError, StoreUnavailableError } from "../port/errors.ts";

const DUPLICATE_KEY = 11000;
const INTERNAL_ERROR = 1;

/** FerretDB passes an SQLSTATE of its PostgreSQL on as a number: five characters of six bits, the first the lowest. */
const sqlState = (state: string): number =>
  Array.from(state).reduceRight((code, character) => (code << 6) | (character.charCodeAt(0) - 48), 0);

/** The server undid the operation because of another one; it may be sent again. */
const transientCodes = new Set<unknown>([
  112, // WriteConflict
  sqlState("40P01"), // deadlock detected: two inserts with one value of a unique index may cause it
  sqlState("40001"), // serialization failure
]);

/** The server ended the operation because of the time that it took. */
const tooSlowCodes = new Set<unknown>([
  50, // MaxTimeMSExpired
  262, // ExceededTimeLimit
  sqlState("57014"), // query_canceled: FerretDB's statement timeout
]);

/** Answers by which a server says that it, or the replica set, cannot do it now. */
const unavailableCodes = new Set<unknown>([
  ...transientCodes,
  ...tooSlowCodes,
  INTERNAL_ERROR, // FerretDB without its PostgreSQL
  6, // HostUnreachable
  7, // HostNotFound
  24, // LockTimeout
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  202, // NetworkInterfaceExceededTimeLimit
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11601, // Interrupted
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
  ...["08003", "08006", "53100", "53200", "53300", "57P01", "57P02", "57P03"].map(sqlState),
]);

const unavailableKinds = [
  MongoNetworkError,
  MongoServerSelectionError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoTopologyClosedError,
  MongoClientClosedError,
  MongoExpiredSessionError,
];

const isUnavailability = (error: MongoError): boolean =>
  unavailableKinds.some((kind) => error instanceof kind) ||
  unavailableCodes.has(error.code) ||
  // Behind the guard no more is asked for than the pool has, so this is a server to which no connection can be made. The
  // error has no exported class.
  (error instanceof MongoDriverError && error.name === "MongoWaitQueueTimeoutError") ||
  // Stands for whatever befell the connection, and keeps nothing of it but the message.
  (error instanceof MongoBulkWriteError && error.code === undefined);

export const isTooSlow = (error: unknown): boolean => error instanceof MongoError && tooSlowCodes.has(error.code);

/** A `findAndModify` of FerretDB tells of a deadlock by its message alone. */
export const isTransient = (error: unknown): boolean =>
  error instanceof MongoError &&
  (transientCodes.has(error.code) || (error.code === INTERNAL_ERROR && error.message.includes("deadlock detected")));

/**
 * The name of the index that refused a write, or undefined for any other error. The message may hold stored values,
 * the name never does. MongoDB: `… index: hash dup key: { … }`; FerretDB: `… Index 'hash'`, but a
 * `findAndModify`, or an index that is made, there tells only that it was not the id: `declared` is the one unique index that it can be.
 */
const duplicateIn = ({ code, message }: MongoError, declared: string): string | undefined => {
  if (code === INTERNAL_ERROR && /(violates|could not create) exclusion constraint/.test(message)) return declared;
  if (code !== DUPLICATE_KEY) return undefined;
  const [, mongo, ferret] = /index: (?:\S+\.\$)?(\S+)|Index '([^']+)'/.exec(message) ?? [];
  const name = mongo ?? ferret ?? declared;
  return name === "_id_" ? "_id" : name;
};

/** What Node says of a connection that is gone; the driver hands it on as it is when the server had closed an idle one. */
const connectionCodes = new Set<unknown>([
  "EPIPE",
  "ECONNRESET",
  "ECONNABORTED",
  "ETIMEDOUT",
  "ERR_STREAM_DESTROYED",
  "ERR_STREAM_WRITE_AFTER_END",
]);

const isConnectionLoss = (error: unknown): boolean => error instanceof Error && "code" in error && connectionCodes.has(error.code);

/** The port's error for an error of the driver; what is a bug stays as it is. @param declared the collection's unique index. */
export const toStoreError = (error: unknown, kind: "read" | "write", declared = "_id"): unknown => {
  if (isConnectionLoss(error)) {
    return new StoreUnavailableError("the connection to MongoDB was lost", { cause: error, outcomeUnknown: kind === "write" });
  }
  if (!(error instanceof MongoError)) return error;
  const index = duplicateIn(error, declared);
  if (index !== undefined) return new DuplicateKeyError(index);
  if (!isUnavailability(error)) return error;
  return new StoreUnavailableError(`MongoDB is not available: ${error.name}`, {
    cause: error,
    outcomeUnknown: kind === "write",
    tooSlow: isTooSlow(error),
  });
};
