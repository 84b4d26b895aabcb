import type { Log } from "./log.ts";

/** A background task, as it appears in the log. */
export type BackgroundTask = "changes feed" | "audit log" | "last used" | "sweep";

/** Everything that the service tells in its log, one function per event. Never a secret, never a line per verification. */
export interface Events {
  readonly serviceStarted: (facts: {
    readonly url: string;
    readonly adminUrl: string;
    readonly store: string;
    readonly version: string;
  }) => void;
  /** The service was started with a clock that its callers can turn. */
  readonly testClockInUse: () => void;
  /** Variables of the environment that look like settings and are none. */
  readonly suspiciousSettings: (problems: readonly string[]) => void;
  readonly serviceStopping: (reason: string) => void;
  readonly serviceStopped: () => void;
  readonly firstRootKeyCreated: (facts: { readonly rootKeyId: string; readonly file: string }) => void;
  /** `ratelimits`: what rate limits do beyond the budget held, `allow` or `deny`; left out before the start is done. */
  readonly storeAway: (error: unknown, ratelimits?: string) => void;
  readonly storeBack: () => void;
  readonly backgroundTaskFailed: (task: BackgroundTask, error: unknown) => void;
  readonly analyticsAway: (error: unknown) => void;
  readonly analyticsBack: () => void;
  /** The embedded engine ended by itself; it is started again. */
  readonly analyticsEngineDied: (reason: string) => void;
  readonly analyticsIsolationLeaks: (version: string, queries: readonly string[]) => void;
  /** Events that will never be visible, since the last such line. */
  readonly analyticsEventsDropped: (count: number, error: unknown) => void;
  /** What deletions left behind begins to be removed. @param due deleted objects of each kind. */
  readonly sweepStarted: (due: Readonly<Record<string, number>>) => void;
  readonly sweepEnded: (facts: {
    readonly swept: Readonly<Record<string, number>>;
    readonly milliseconds: number;
    readonly finished: boolean;
  }) => void;
  readonly tlsReloaded: () => void;
  /** The old certificate stays in use. */
  readonly tlsReloadFailed: (error: unknown) => void;
  /** A call ended in a 5xx; `error` is what the caller does not see. */
  readonly callFailed: (facts: {
    readonly requestId: string;
    readonly procedure: string;
    readonly reason: string;
    readonly error: unknown;
  }) => void;
  /** Calls were refused because too many are in work. */
  readonly overloaded: (refused: number) => void;
  /** Whether `callEnded` writes anything at the configured level. */
  readonly tellsCalls: boolean;
  readonly callEnded: (facts: {
    readonly requestId: string;
    readonly procedure: string;
    readonly outcome: string;
    readonly milliseconds: number;
  }) => void;
  /** The process is about to end because of an error that nothing handled. */
  readonly crashed: (error: unknown) => void;
}

export const createEvents = (log: Log): Events => ({
  serviceStarted: (facts) => log.info(facts, "service started"),
  testClockInUse: () => log.warn("test clock in use: any root key can turn the time with testing.setTime"),
  suspiciousSettings: (problems) => log.warn({ problems }, "unknown settings"),
  serviceStopping: (reason) => log.info({ reason }, "service stopping"),
  serviceStopped: () => log.info("service stopped"),
  firstRootKeyCreated: (facts) => log.info(facts, "first root key created"),
  storeAway: (error, ratelimits) => log.error({ err: error, ratelimits }, "store away"),
  storeBack: () => log.info("store back"),
  backgroundTaskFailed: (task, error) => log.warn({ task, err: error }, "background task failed"),
  analyticsAway: (error) => log.warn({ err: error }, "analytics store away"),
  analyticsBack: () => log.info("analytics store answers"),
  analyticsEngineDied: (reason) => log.error({ reason }, "analytics engine ended"),
  analyticsIsolationLeaks: (version, queries) =>
    log.error({ version, queries }, "analytics engine shows scoped queries rows of others: they are refused"),
  analyticsEventsDropped: (count, error) => log.warn({ count, ...(error === undefined ? {} : { err: error }) }, "analytics events dropped"),
  sweepStarted: (due) => log.info({ due }, "sweep started"),
  sweepEnded: (facts) => log.info(facts, "sweep ended"),
  tlsReloaded: () => log.info("TLS certificate reloaded"),
  tlsReloadFailed: (error) => log.error({ err: error }, "TLS certificate not reloaded"),
  callFailed: ({ error, ...facts }) => log.error({ ...facts, err: error }, "call failed"),
  overloaded: (refused) => log.warn({ refused }, "too many calls in flight"),
  tellsCalls: log.isLevelEnabled("debug"),
  callEnded: (facts) => log.debug(facts, "call ended"),
  crashed: (error) => log.fatal({ err: error }, "unhandled error"),
});
