import {
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
import { DuplicateKeyError, StoreUnavailableError } from "../errors.ts";

const DUPLICATE_KEY = 11000;

/** Answers by which a server says that it, or the replica set, cannot do it now. */
const unavailableCodes = new Set<unknown>([
  6, // HostUnreachable
  7, // HostNotFound
  24, // LockTimeout
  50, // MaxTimeMSExpired
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern
  112, // WriteConflict, after the server's own retries
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  202, // NetworkInterfaceExceededTimeLimit
  262, // ExceededTimeLimit
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11601, // Interrupted
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
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
  // The pool's queue; its error has no exported class.
  (error instanceof MongoDriverError && error.name === "MongoWaitQueueTimeoutError");

/** MongoDB: `… index: hash dup key: { … }`; FerretDB: `… Index 'hash'`. The message may hold stored values, the name never does. */
const indexOf = ({ message }: MongoError): string => {
  const [, mongo, ferret] = /index: (?:\S+\.\$)?(\S+)|Index '([^']+)'/.exec(message) ?? [];
  const name = mongo ?? ferret ?? "unknown";
  return name === "_id_" ? "_id" : name;
};

/** The port's error for an error of the driver; what is a bug stays as it is. */
export const toStoreError = (error: unknown, kind: "read" | "write"): unknown => {
  if (!(error instanceof MongoError)) return error;
  if (error.code === DUPLICATE_KEY) return new DuplicateKeyError(indexOf(error));
  if (!isUnavailability(error)) return error;
  return new StoreUnavailableError(`MongoDB is not available: ${error.name}`, { cause: error, outcomeUnknown: kind === "write" });
};
