import type { Log } from "./log.ts";
import { createRepeats } from "./repeats.ts";

/** A background task, as it appears in the log. */
export type BackgroundTask =
  | "changes feed"
  | "audit log"
  | "sweep"
  | "backfill"
  | "used permissions"
  | "root keys last used"
  | "last used"
  | "rate limits"
  | "analytics"
  | "nodes"
  | "store figures";

/** Files that are read again when they change: what a port speaks TLS with, and the token of the admin port. */
export type WatchedFiles = "service_tls" | "admin_tls" | "admin_token";

const watched: Readonly<Record<WatchedFiles, string>> = {
  service_tls: "TLS certificate",
  admin_tls: "TLS certificate",
  admin_token: "admin token",
};

/** How long what happens again is only counted, in milliseconds. */
const SUM_UP_EVERY = 10_000;

/** A call that ended in a 5xx; `error` is what the caller does not see. */
interface FailedCall {
  readonly requestId: string;
  readonly procedure: string;
  readonly reason: string;
  readonly error: unknown;
}

/** A client whose certificate does not do. */
interface RefusedTlsClient {
  readonly port: string;
  readonly reason: string;
  readonly address: string | undefined;
  /** In its certificate. */
  readonly names: string | undefined;
}

/**
 * Everything that the service tells in its log, one function per event. Never a secret, never a line per verification. Of
 * what callers or an absent store can make happen again and again the first is a line, and then one in ten seconds.
 */
export interface Events {
  readonly serviceStarted: (facts: {
    readonly url: string;
    readonly adminUrl: string;
    readonly consoleUrl: string | undefined;
    /** What the links in errors start with. */
    readonly errorsBaseUrl: string;
    readonly store: string;
    readonly version: string;
  }) => void;
  /** The service was started with a clock that its callers can turn. */
  readonly testClockInUse: () => void;
  /** Variables of the environment that look like settings and are none. */
  readonly suspiciousSettings: (problems: readonly string[]) => void;
  readonly serviceStopping: (reason: string) => void;
  readonly serviceStopped: () => void;
  /** A worker process ended by itself. @param by exit code or signal. @param problem what it complained of. */
  readonly workerEnded: (facts: {
    readonly worker: number;
    readonly by: string;
    readonly problem: string | undefined;
    readonly restartInMs: number;
  }) => void;
  /** A worker process has not answered for half a minute, and is ended. */
  readonly workerSilent: (facts: { readonly worker: number }) => void;
  /** The one that was started in its place serves. */
  readonly workerBack: (facts: { readonly worker: number }) => void;
  /** Tells what was only counted so far. */
  readonly sumUp: () => void;
  readonly firstRootKeyCreated: (facts: { readonly rootKeyId: string; readonly file: string }) => void;
  /** `ratelimits`: what rate limits do beyond the budget held, `allow` or `deny`; left out before the start is done. */
  readonly storeAway: (error: unknown, ratelimits?: string) => void;
  readonly storeBack: () => void;
  /** The server that counts rate limits. @param ratelimits see `storeAway`. */
  readonly counterServerAway: (error: unknown, ratelimits: string) => void;
  readonly counterServerBack: () => void;
  /** @param facts what it says of itself; undefined when it was not reached yet. */
  readonly counterServerInUse: (facts: object | undefined) => void;
  /** The service listens. @param facts what its store says of itself. */
  readonly storeOpened: (facts: Readonly<Record<string, unknown>>) => void;
  readonly backgroundTaskFailed: (task: BackgroundTask, error: unknown) => void;
  /** The service stops without waiting for it any longer. @param milliseconds the time that it had. */
  readonly backgroundTaskLate: (task: BackgroundTask, milliseconds: number) => void;
  /** No events are kept, since the embedded engine is not installed and nobody asked for it. @param fix what to do. */
  readonly analyticsEngineMissing: (fix: string) => void;
  readonly analyticsAway: (error: unknown) => void;
  readonly analyticsBack: () => void;
  /** The embedded engine ended by itself; it is started again. */
  readonly analyticsEngineDied: (reason: string) => void;
  readonly analyticsIsolationLeaks: (version: string, queries: readonly string[]) => void;
  /** Events that will never be visible, since the last such line. */
  readonly analyticsEventsDropped: (count: number, error: unknown) => void;
  /** Spans that no collector will get. @param cause in words. */
  readonly spansDropped: (spans: number, cause: string) => void;
  /** What deletions left behind begins to be removed. @param due deleted objects of each kind. */
  readonly sweepStarted: (due: Readonly<Record<string, number>>) => void;
  readonly sweepEnded: (facts: {
    readonly swept: Readonly<Record<string, number>>;
    readonly milliseconds: number;
    readonly finished: boolean;
  }) => void;
  /** Keys and identities of an earlier version are being made searchable by name and externalId. @param progress documents, in this pass. */
  readonly backfill: (
    step: "started" | "going on" | "ended",
    progress: { readonly pass: number; readonly lookedAt: number; readonly filled: number },
  ) => void;
  /** People cannot sign in by it, or one could not. Its message holds no secret. */
  readonly identityProviderFailed: (failure: Error) => void;
  readonly filesReloaded: (files: WatchedFiles) => void;
  /** What was read before stays in use. @param fault without anything of what the files hold. */
  readonly filesReloadFailed: (files: WatchedFiles, fault: { readonly reason: string; readonly message: string }) => void;
  /** A client's certificate does not do. */
  readonly tlsClientRefused: (client: RefusedTlsClient) => void;
  /** Somebody was handed a profile of this process, or of a worker. */
  readonly profileTaken: (facts: {
    readonly kind: string;
    readonly worker: number | undefined;
    readonly seconds: number;
    readonly bytes: number;
    readonly address: string | undefined;
  }) => void;
  readonly callFailed: (facts: FailedCall) => void;
  /** An exception inside Node's HTTP modules ended one connection. */
  readonly connectionFault: (error: Error) => void;
  /** A caller that has its share was refused more. @param resource what ran out, as in the metrics. */
  readonly refusedForOthers: (resource: string) => void;
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

const messageOf = (error: unknown): string => (error instanceof Error ? `${error.name} ${error.message.slice(0, 100)}` : "");

export const createEvents = (log: Log): Events => {
  const failedCalls = createRepeats<FailedCall>({
    interval: SUM_UP_EVERY,
    kindOf: ({ procedure, reason, error }) => `${procedure} ${reason} ${messageOf(error)}`,
    first: ({ error, ...facts }) => log.error({ ...facts, err: error }, "call failed"),
    more: ({ error, ...facts }, count) => log.error({ ...facts, count, cause: messageOf(error) }, "more calls failed"),
  });
  const failedTasks = createRepeats<{ readonly task: BackgroundTask; readonly error: unknown }>({
    interval: SUM_UP_EVERY,
    kindOf: ({ task, error }) => `${task} ${messageOf(error)}`,
    first: ({ task, error }) => log.warn({ task, err: error }, "background task failed"),
    more: ({ task, error }, count) => log.warn({ task, count, cause: messageOf(error) }, "background task failed again"),
  });
  const providerFailures = createRepeats<Error>({
    interval: SUM_UP_EVERY,
    kindOf: messageOf,
    first: ({ message }) => log.warn({ problem: message }, "identity provider failed"),
    more: ({ message }, count) => log.warn({ problem: message, count }, "identity provider failed again"),
  });
  const connectionFaults = createRepeats<Error>({
    interval: SUM_UP_EVERY,
    kindOf: messageOf,
    first: (error) => log.error({ err: error }, "exception inside Node ended a connection"),
    more: (error, count) => log.error({ count, cause: messageOf(error) }, "exceptions inside Node ended connections"),
  });
  let droppedSpans = 0;
  const drops = createRepeats<string>({
    interval: SUM_UP_EVERY,
    kindOf: (cause) => cause,
    first: (cause) => log.warn({ cause, dropped: droppedSpans }, "trace spans dropped"),
    more: (cause) => log.warn({ cause, dropped: droppedSpans }, "more trace spans dropped"),
  });
  const refusals = createRepeats<string>({
    interval: SUM_UP_EVERY,
    kindOf: (resource) => resource,
    first: (resource) => log.warn({ resource }, "caller refused: over its fair share"),
    more: (resource, count) => log.warn({ resource, count }, "callers refused: over their fair share"),
  });
  const clientRefusals = createRepeats<RefusedTlsClient>({
    interval: SUM_UP_EVERY,
    kindOf: ({ port, reason }) => `${port} ${reason}`,
    first: (facts) => log.warn(facts, "client refused: its certificate"),
    more: (facts, count) => log.warn({ ...facts, count }, "clients refused: their certificates"),
  });

  return {
    serviceStarted: (facts) => log.info(facts, "service started"),
    testClockInUse: () => log.warn("test clock in use: any root key can turn the time with testing.setTime"),
    suspiciousSettings: (problems) => log.warn({ problems }, "unknown settings"),
    serviceStopping: (reason) => log.info({ reason }, "service stopping"),
    serviceStopped: () => log.info("service stopped"),
    workerEnded: (facts) => log.error(facts, "worker ended"),
    workerSilent: (facts) => log.error(facts, "worker does not answer"),
    workerBack: (facts) => log.info(facts, "worker back"),
    sumUp: () => {
      for (const { flush } of [connectionFaults, failedCalls, failedTasks, providerFailures, drops, refusals, clientRefusals]) flush();
    },
    firstRootKeyCreated: (facts) => log.info(facts, "first root key created"),
    storeAway: (error, ratelimits) => log.error({ err: error, ratelimits }, "store away"),
    storeBack: () => log.info("store back"),
    counterServerAway: (error, ratelimits) => log.error({ err: error, ratelimits }, "counter server away"),
    counterServerBack: () => log.info("counter server back"),
    counterServerInUse: (facts = {}) => log.info(facts, "rate limits are counted by the server of COUNTERS_URL"),
    storeOpened: (facts) => log.info(facts, "store opened"),
    backgroundTaskFailed: (task, error) => failedTasks.happened({ task, error }),
    backgroundTaskLate: (task, milliseconds) => log.error({ task, milliseconds }, "background task did not stop in time"),
    analyticsEngineMissing: (fix) => log.info({ fix }, "no analytics"),
    analyticsAway: (error) => log.warn({ err: error }, "analytics store away"),
    analyticsBack: () => log.info("analytics store answers"),
    analyticsEngineDied: (reason) => log.error({ reason }, "analytics engine ended"),
    analyticsIsolationLeaks: (version, queries) =>
      log.error({ version, queries }, "analytics engine leaks rows to scoped queries: such queries are refused"),
    analyticsEventsDropped: (count, error) =>
      log.warn({ count, ...(error === undefined ? {} : { err: error }) }, "analytics events dropped"),
    spansDropped: (spans, cause) => {
      droppedSpans += spans;
      drops.happened(cause);
    },
    sweepStarted: (due) => log.info({ due }, "sweep started"),
    sweepEnded: (facts) => log.info(facts, "sweep ended"),
    backfill: (step, progress) => log.info(progress, `backfill of searched names ${step}`),
    identityProviderFailed: providerFailures.happened,
    filesReloaded: (files) => log.info({ files }, `${watched[files]} reloaded`),
    filesReloadFailed: (files, { reason, message }) => log.warn({ files, reason, problem: message }, `${watched[files]} not reloaded`),
    tlsClientRefused: clientRefusals.happened,
    profileTaken: (facts) => log.info(facts, "profile taken"),
    callFailed: failedCalls.happened,
    connectionFault: connectionFaults.happened,
    refusedForOthers: refusals.happened,
    tellsCalls: log.isLevelEnabled("debug"),
    callEnded: (facts) => log.debug(facts, "call ended"),
    crashed: (error) => log.fatal({ err: error }, "unhandled error"),
  };
};
