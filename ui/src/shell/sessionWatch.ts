import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { refreshSession } from "../data/access/session.ts";
import { session } from "../data/access/sessionState.ts";

/** Milliseconds before the end of a session at which the page warns (console §2.3). */
const warning = 120_000;

/** Milliseconds between looks at the session: other calls renew it, this look does not. */
const lookEvery = 30_000;

const now: Signal<number> = signal(Date.now());

/** Unix ms at which the session ends, once that is less than two minutes away. */
export const endsSoon: ReadonlySignal<{ readonly at: number; readonly secondsLeft: number } | undefined> = computed(() => {
  const current = session.value;
  if (typeof current === "string") return undefined;
  const at = Math.min(Number(current.idleExpiresAt), Number(current.expiresAt));
  const left = at - now.value;
  return left <= warning ? { at, secondsLeft: Math.max(0, Math.ceil(left / 1000)) } : undefined;
});

/** Looks at the session from time to time. @returns ends it */
export const watchSession = (): (() => void) => {
  const look = (): void => {
    // While the service is down, the session is unknown; the page reports that the service is down.
    refreshSession().catch(() => undefined);
  };
  const tick = setInterval(() => {
    now.value = Date.now();
    const current = endsSoon.value;
    if (current?.secondsLeft === 0 && !document.hidden) look();
  }, 1000);
  const looks = setInterval(look, lookEvery);
  return () => {
    clearInterval(tick);
    clearInterval(looks);
  };
};
