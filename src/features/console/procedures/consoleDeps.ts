import { ServiceError } from "../../../platform/base/errors.ts";
import type { Holder, LiveSession, Visit } from "../../../platform/rpc/visit.ts";
import { hashKey } from "../../../platform/secrets/keySecret.ts";
import { looksLikeRootKey } from "../../../platform/secrets/rootKeySecret.ts";
import type { RootKeyDocument } from "../../../platform/storage/port/documents.ts";
import { actorOf } from "../../audit/auditEvent.ts";
import type { Call } from "../../calls/call.ts";
import type { Acting, Sessions } from "../createSessions.ts";
import { holderOfRootKey } from "../holders.ts";
import type { SignInGuard } from "../signInGuard.ts";

/** What the procedures of the console depend on. */
export interface ConsoleDeps {
  readonly sessions: Sessions;
  readonly guard: SignInGuard;
  /** The root key with this hash, enabled or not. Fails with `service_unavailable` where too many are asked for at the same time. */
  readonly findRootKey: (hash: string, call: Call) => Promise<RootKeyDocument | null>;
}

/** With what the call came. They are served by the console's edge only. */
export const visitOf = ({ visit }: Pick<Call, "visit">): Visit => {
  if (visit === undefined) throw new Error("a procedure of the console was called by another edge");
  return visit;
};

/** The session that calls. */
export const liveOf = (call: Call): LiveSession => {
  const { live } = visitOf(call);
  if (live === undefined) throw new ServiceError("console_session_required", "There is no session, or it has ended: sign in.");
  return live;
};

/** For what is done to a session of `holder`, whoever the call took its caller for: to its end, also when the call was given up. */
export const actingFor = ({ id, name, person }: Holder, call: Call): Acting => {
  const visit = visitOf(call);
  const { correlationId, receivedAt: now, userAgent } = call;
  const actor = actorOf({ rootKeyId: id, name, ...(person === undefined ? {} : { isPerson: true }) });
  return { visit, source: { actor, correlationId, now, remoteIp: visit.address, userAgent }, behalf: { caller: call.caller } };
};

/** The root key with this secret, if it may sign in; undefined for every reason why not. */
export const findSigner = async ({ findRootKey }: ConsoleDeps, secret: string, call: Call): Promise<Holder | undefined> => {
  const rootKey = looksLikeRootKey(secret) ? await findRootKey(hashKey(secret), call) : null;
  const holder = rootKey === null ? undefined : holderOfRootKey(rootKey);
  return holder?.callerAt(call.receivedAt) === undefined ? undefined : holder;
};
