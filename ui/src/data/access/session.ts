import { ConsoleService } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import { call } from "../calls/call.ts";
import { readCallError } from "../calls/callError.ts";
import { elevationRequest, session } from "./sessionState.ts";

const { signIn: signInMethod, signOut: signOutMethod, elevate: elevateMethod, getSession, listSessions } = ConsoleService.method;

/** Reads the owner of this session without renewing it (console §1). While the service is down, the known session stays. */
export const refreshSession = async (): Promise<void> => {
  try {
    const { message } = await call(getSession, {}, { background: true });
    session.value = message.data ?? "signedOut";
  } catch (thrown) {
    const { kind } = readCallError(thrown);
    if (kind === "signedOut" || kind === "forbidden") session.value = "signedOut";
    else if (session.value === "unknown") throw thrown;
  }
};

/** Opens a session. The root key is in no variable once this has returned. */
export const signIn = async (rootKey: string): Promise<void> => {
  const { message } = await call(signInMethod, { rootKey });
  session.value = message.data ?? "signedOut";
};

/**
 * Ends the session. If the service does not answer, the session stays open here too: a person must not believe that it
 * has ended.
 */
export const signOut = async (): Promise<void> => {
  await call(signOutMethod, {});
  session.value = "signedOut";
};

/** Enters the session's own root key again, for the next 5 minutes (console §2.4), and lets go on what waited for it. */
export const confirmRootKey = async (rootKey: string): Promise<void> => {
  try {
    const { message } = await call(elevateMethod, { rootKey });
    if (message.data !== undefined) session.value = message.data;
  } catch (thrown) {
    // Refused for a wrong key, or because the session has ended meanwhile: the look tells.
    await refreshSession();
    throw thrown;
  }
  elevationRequest.value?.done();
};

/** Looks whether the session was elevated in another window, and then lets go on what waited for it. */
export const lookForElevation = async (): Promise<void> => {
  await refreshSession();
  if (typeof session.value !== "string" && session.value.elevatedUntil !== undefined) elevationRequest.value?.done();
};

/** Keeps the session alive: every call by a person renews it (console §2.3), and every session may make this one. */
export const renewSession = async (): Promise<void> => {
  await call(listSessions, {});
  await refreshSession();
};
