import { ClientClosedError, ClientOfflineError, ConnectionTimeoutError, ErrorReply, SocketClosedUnexpectedlyError } from "@redis/client";
import { StoreUnavailableError } from "../port/errors.ts";

/** The server that is configured cannot keep the counters, or not with these settings. Asking again does not help. */
export class CounterServerUnusableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CounterServerUnusableError";
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && "code" in error ? String(error.code) : "");
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What Node says when no connection came about. */
const notConnected = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

const certificateCodes =
  /^(CERT_|ERR_TLS_CERT|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY)|HOSTNAME_MISMATCH|ERR_OSSL_PEM|ERR_OSSL_X509)/;

/** Why a server cannot be used as it is configured, for people; undefined when it is only out of reach. */
export const misconfigurationIn = (error: unknown): string | undefined => {
  const [code, message] = [codeOf(error), messageOf(error)];
  if (/^WRONGPASS/.test(message)) return "it does not know the user or the password of COUNTERS_URL";
  if (/^NOAUTH/.test(message)) return "it needs a password: COUNTERS_URL=redis://:password@…";
  if (/^NOPERM/.test(message)) return `its user may not do what the counters need (${message})`;
  if (/unknown command .HELLO/i.test(message)) return "it is older than version 7.0";
  if (certificateCodes.test(code)) return `its certificate cannot be used (${message}): see COUNTERS_TLS_CA`;
  if (/tlsv1 alert|alert number|CERTIFICATE_REQUIRED/i.test(`${code} ${message}`)) {
    return `it refuses the TLS connection (${message}): see COUNTERS_TLS_CERT`;
  }
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "EPROTO") return "it does not speak TLS on this port";
  if (/Unknown RESP type/.test(message)) return "it is not a Valkey or Redis server";
  return undefined;
};

/** Why no connection came about, with what may be wrong if that is not only the network. @param isTls the settings ask for TLS */
export const describeRefusal = (error: unknown, isTls: boolean): Error => {
  const message = messageOf(error);
  if (isTls && error instanceof ConnectionTimeoutError) return new Error(`${message}: does it speak TLS on this port?`, { cause: error });
  const isClosed = error instanceof SocketClosedUnexpectedlyError || codeOf(error) === "ECONNRESET";
  if (!isTls && isClosed) return new Error(`${message}: does it expect TLS, and so rediss:// in COUNTERS_URL?`, { cause: error });
  return error instanceof Error ? error : new Error(message);
};

/**
 * The port's error for an error of the client. Only an error that the server answered, or one that came before the command was
 * sent, says that nothing has happened.
 */
export const toStoreError = (error: unknown, kind: "read" | "write"): Error => {
  if (error instanceof StoreUnavailableError) return error;
  const message = messageOf(error);
  const isKnown =
    error instanceof ErrorReply ||
    error instanceof ClientClosedError ||
    error instanceof ClientOfflineError ||
    error instanceof ConnectionTimeoutError ||
    notConnected.has(codeOf(error));
  return new StoreUnavailableError(`the counter server is not available: ${message}`, {
    cause: error,
    outcomeUnknown: kind === "write" && !isKnown,
  });
};
