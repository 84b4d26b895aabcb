import type { TLSSocket } from "node:tls";
import { isAnyAllowed, type SubjectName, subjectNamesOf } from "../../base/subjectNames.ts";

/**
 * Why a client's certificate does not do: it showed none; no authority that is trusted here issued it, or not for clients; its
 * time is not now; none of its names is allowed.
 */
export const clientRefusals = ["no_certificate", "untrusted", "expired", "name"] as const;
export type ClientRefusal = (typeof clientRefusals)[number];

/** A client that was refused. */
export interface RefusedClient {
  readonly reason: ClientRefusal;
  /** Undefined where Node has closed the connection before it tells. */
  readonly address: string | undefined;
  /** Those in its certificate, as Node writes them, as far as they are short; they may be made up unless `reason` is `name`. */
  readonly names: string | undefined;
}

export const refusedClient = (reason: ClientRefusal, socket: TLSSocket): RefusedClient => ({
  reason,
  address: socket.remoteAddress,
  names: socket.getPeerX509Certificate()?.subjectAltName?.slice(0, 200),
});

/** @param code of OpenSSL, as Node has it. */
const refusalFor = (code: string): ClientRefusal =>
  code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID" ? "expired" : "untrusted";

/**
 * Whether the client of a connection whose handshake is over is refused; undefined when it may go on. The port must ask for
 * certificates. @param allowed names of which the certificate must have one; undefined = whichever.
 */
export const clientRefusal = (socket: TLSSocket, allowed: readonly SubjectName[] | undefined): ClientRefusal | undefined => {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return "no_certificate";
  if (!socket.authorized) return refusalFor(String(socket.authorizationError));
  return allowed === undefined || isAnyAllowed(allowed, subjectNamesOf(certificate.subjectAltName)) ? undefined : "name";
};

/** Why a handshake failed, if it did for its client's certificate. */
export const handshakeRefusal = (error: NodeJS.ErrnoException, socket: TLSSocket): ClientRefusal | undefined => {
  if (error.code === "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE") return "no_certificate";
  // Null until Node has judged the certificate, whatever the types say.
  const code = socket.authorizationError as unknown;
  return typeof code === "string" ? refusalFor(code) : undefined;
};
