import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Session, SessionPerson } from "../../../../gen/latchkey/console/v1/console_pb.ts";

/** `unknown` until the service was asked; `signedOut` has no session (any more). */
export type SessionState = Session | "unknown" | "signedOut";

/** The session of this page (console §2). */
export const session: Signal<SessionState> = signal<SessionState>("unknown");

/** Root-key permissions that the session holds; empty without a session. */
export const heldPermissions: ReadonlySignal<readonly string[]> = computed(() =>
  typeof session.value === "string" ? [] : session.value.permissions,
);

/** The person who signed in by OpenID Connect. Undefined without a session, and in a session of a root key. */
export const person: ReadonlySignal<SessionPerson | undefined> = computed(() =>
  typeof session.value === "string" ? undefined : session.value.person,
);

/**
 * Calls back when the session ends or is replaced, so that the next person sees nothing that it left in memory.
 * @param forget clears it
 */
export const forgetAfterSession = (forget: () => void): void => {
  let of: bigint | undefined;
  effect(() => {
    if (session.value === "unknown") return;
    // The end of a session is set when it is opened: it tells one from another that was opened in another tab.
    const end = session.value === "signedOut" ? undefined : session.value.expiresAt;
    if (end !== of) forget();
    of = end;
  });
};

/** A call that waits for the root key to be entered again, or for a person to sign in again. */
export interface ElevationRequest {
  readonly done: () => void;
  readonly refused: () => void;
}

/** The request that the elevation dialog of the shell answers. Undefined: none is pending. */
export const elevationRequest: Signal<ElevationRequest | undefined> = signal(undefined);

let waiting: Promise<boolean> | undefined;

/** Asks for the root key once for all calls that wait for it. @returns false when the person closed the dialog. */
export const elevate = (): Promise<boolean> => {
  waiting ??= new Promise<boolean>((resolve) => {
    const finish = (elevated: boolean) => (): void => {
      elevationRequest.value = undefined;
      waiting = undefined;
      resolve(elevated);
    };
    elevationRequest.value = { done: finish(true), refused: finish(false) };
  });
  return waiting;
};
