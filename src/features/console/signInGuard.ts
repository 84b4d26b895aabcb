import type { Behalf } from "../../platform/base/behalf.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { ServiceError } from "../../platform/base/errors.ts";
import type { Visit } from "../../platform/rpc/visit.ts";
import { createKeyedMutex } from "../../platform/storage/keyedMutex.ts";
import type { AuditResource } from "../../platform/storage/port/auditEvents.ts";
import { type AuditEventName, auditEvent } from "../audit/auditEvent.ts";
import type { FailedSignInsRepository } from "./failedSignInsRepository.ts";
import { isTold, retryAfter, withFailure } from "./signInBound.ts";

/** How long what an address failed at is kept, in ms: the log has been told by then. */
const KEPT_MS = 86_400_000;

/** Somebody presents a root key to the console, or comes back from the provider. */
export interface Attempt {
  readonly visit: Visit;
  /** Unix ms. */
  readonly now: number;
  /** What the audit log is told if it fails. */
  readonly event: Extract<AuditEventName, "console.sign_in_failed" | "console.elevate_failed">;
  readonly display: string;
  readonly resources?: readonly AuditResource[];
  readonly correlationId: string;
  readonly userAgent: string | undefined;
  readonly signal: AbortSignal;
  readonly behalf: Behalf;
}

/**
 * Bounds failed sign-ins (console §2.7): 429 `console_sign_ins_limited` with Retry-After once ten from one address failed within
 * a minute, on whichever nodes; else what `judge` finds, and 401 `console_sign_in_failed` when that is nothing.
 */
export type SignInGuard = <T>(attempt: Attempt, judge: () => Promise<T | undefined>) => Promise<T>;

/** 403 unless the connection may carry a session (console §2.2). */
export const requirePrivate = ({ isPrivate }: Pick<Visit, "isPrivate">): void => {
  if (isPrivate) return;
  const detail = "Signing in needs an encrypted connection: set TLS_CERT and TLS_KEY, or TRUSTED_PROXIES with X-Forwarded-Proto.";
  throw new ServiceError("console_request_refused", detail);
};

const failed = (): ServiceError =>
  new ServiceError(
    "console_sign_in_failed",
    "This root key cannot sign in: it does not exist, is disabled or expired, or lacks console.*.sign_in.",
  );

const limited = (visit: Visit, seconds: number): ServiceError => {
  visit.setHeader("Retry-After", String(seconds));
  return new ServiceError("console_sign_ins_limited", `Too many sign-ins from this address failed. Try again in ${seconds} s.`);
};

/** @param leaseClock one that nobody turns: by it rows are kept. */
export const createSignInGuard = (failedSignIns: FailedSignInsRepository, leaseClock: Clock): SignInGuard => {
  // Those of one address one after the other, or any number of guesses would be judged before the first is counted.
  const mutex = createKeyedMutex();
  return ({ visit, now, event, display, resources = [], signal, behalf, correlationId, userAgent }, judge) =>
    mutex.run(visit.network, async () => {
      signal.throwIfAborted();
      const known = await failedSignIns.find(visit.network, behalf);
      const wait = retryAfter(known?.failures ?? [], now);
      if (wait !== undefined) throw limited(visit, wait);
      const found = await judge();
      if (found !== undefined) return found;
      // Without the call's signal: whoever hangs up has guessed all the same.
      const counted: Behalf = { caller: behalf.caller };
      let over: number | undefined;
      await failedSignIns.modify(
        visit.network,
        now,
        (latest) => {
          over = retryAfter(latest?.failures ?? [], now);
          if (over !== undefined) return undefined;
          const isTellable = isTold(latest?.toldAt, now);
          const actor = { type: "anonymous", id: visit.address ?? visit.network } as const;
          const source = { actor, correlationId, now, remoteIp: visit.address, userAgent };
          return {
            failures: withFailure(latest?.failures ?? [], now),
            toldAt: isTellable ? now : (latest?.toldAt ?? now),
            expireAt: new Date(leaseClock.now() + KEPT_MS),
            events: isTellable ? [auditEvent(source, event, display, ...resources)] : [],
          };
        },
        counted,
      );
      throw over === undefined ? failed() : limited(visit, over);
    });
};
