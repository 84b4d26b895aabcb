import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import type { SubjectName } from "../../platform/base/subjectNames.ts";
import { type ClientRefusal, clientRefusal, type RefusedClient, refusedClient } from "../../platform/http/tls/clientRefusal.ts";
import type { Secret } from "../../platform/secrets/secret.ts";

export interface AdminAccessOptions {
  /** What is asked for now; undefined = no token is. */
  readonly token: () => Secret | undefined;
  /** Undefined = clients need no certificate; otherwise the names of which it must have one, if any is to count. */
  readonly clients: { readonly allowedNames: readonly SubjectName[] | undefined } | undefined;
  readonly onClientRefused: (client: RefusedClient) => void;
}

/** An answer to a request that is not let in. */
export interface AdminRefusal {
  readonly status: 401 | 403;
  readonly text: string;
}

/** Why a request may see nothing but probes; undefined when it may. */
export type AdminAccess = (request: IncomingMessage) => AdminRefusal | undefined;

const refusalTexts: Readonly<Record<ClientRefusal, string>> = {
  no_certificate: "this page needs a client certificate",
  untrusted: "the client certificate was issued by nobody whom ADMIN_TLS_CLIENT_CA names, or not for clients",
  expired: "the client certificate is not valid now",
  name: "the client certificate has none of the names in ADMIN_TLS_CLIENT_ALLOWED_SANS",
};

const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Takes as long for every token, whatever it has in common with the right one. */
const isSame = (given: string, right: Secret): boolean => timingSafeEqual(hashOf(given), hashOf(right.reveal()));

/** The certificate is judged first, and then the token: where both are asked for, both are needed. */
export const createAdminAccess =
  ({ token, clients, onClientRefused }: AdminAccessOptions): AdminAccess =>
  ({ socket, headers }) => {
    if (clients) {
      if (!(socket instanceof TLSSocket)) throw new Error("clients show certificates over TLS only");
      const refusal = clientRefusal(socket, clients.allowedNames);
      if (refusal) {
        onClientRefused(refusedClient(refusal, socket));
        return { status: 403, text: refusalTexts[refusal] };
      }
    }
    const right = token();
    if (right === undefined) return undefined;
    const [, given] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
    if (given === undefined)
      return { status: 401, text: "this page needs the admin token: send the header Authorization: Bearer <ADMIN_TOKEN>" };
    return isSame(given, right) ? undefined : { status: 401, text: "this is not the admin token" };
  };
