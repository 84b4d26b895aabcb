import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { countedProcedure } from "../features/calls/countedProcedure.ts";
import { createConsoleEdge } from "../features/console/edge/consoleEdge.ts";
import { sessionCaller } from "../features/console/edge/sessionCaller.ts";
import { bearerCaller } from "../features/rootKeys/bearerCaller.ts";
import { notAheadOfSystem, systemClock } from "../platform/base/clock.ts";
import type { Config } from "../platform/config/loadConfig.ts";
import { version } from "../platform/config/version.ts";
import { createDocumentationEdge } from "../platform/documentation/documentationEdge.ts";
import { createCapacity } from "../platform/http/capacity.ts";
import { createClientAddress, createIsProxy } from "../platform/http/clientAddress.ts";
import { destroyCurrentConnection, isConnectionFault } from "../platform/http/connectionFault.ts";
import { createConnectionGuards } from "../platform/http/connectionGuard.ts";
import { stopLinger, unreadTimeout } from "../platform/http/limits.ts";
import { createListener, type Listener } from "../platform/http/listener.ts";
import { unreadRequestHeaders } from "../platform/http/securityHeaders.ts";
import { readStaticFiles } from "../platform/http/staticFiles.ts";
import { createConnectEdge } from "../platform/rpc/edges/connect/connectEdge.ts";
import type { EdgeObserver } from "../platform/rpc/edges/edgeObserver.ts";
import { createGrpcEdge } from "../platform/rpc/edges/grpc/grpcEdge.ts";
import { createInterfaceDescription } from "../platform/rpc/edges/v2/interfaceDescription.ts";
import { createV2Edge } from "../platform/rpc/edges/v2/v2Edge.ts";
import { createHealthService } from "../platform/rpc/standard/health.ts";
import { createPublicStreams } from "../platform/rpc/standard/publicStreams.ts";
import { tracePipeline } from "../platform/rpc/traceCalls.ts";
import { compileRpcRoutes } from "../platform/rpc/wire/rpcRoutes.ts";
import { guardStore } from "../platform/storage/decorators/guardStore.ts";
import { openStore } from "../platform/storage/openStore.ts";
import type { Store } from "../platform/storage/port/store.ts";
import { createEvents } from "../platform/telemetry/events.ts";
import { meterStore } from "../platform/telemetry/meterStore.ts";
import { createMetrics } from "../platform/telemetry/metrics.ts";
import { traceStore } from "../platform/telemetry/traceStore.ts";
import { assemble } from "./assemble.ts";
import { createBackgroundWork } from "./backgroundWork.ts";
import { countClientRefusals } from "./countClientRefusals.ts";
import { createDispatcher, createOnlyPages } from "./dispatcher.ts";
import { listenOn } from "./listenOn.ts";
import { type OpenAdmin, openAdmin } from "./openAdmin.ts";
import { openCounters } from "./openCounters.ts";
import { openTracing } from "./openTracing.ts";
import { prepareStore } from "./prepareStore.ts";
import { readOidcSettings } from "./readOidcSettings.ts";
import { runAll } from "./runAll.ts";
import type { ServiceOverrides } from "./serviceOverrides.ts";
import { services, testableServices } from "./services.ts";
import { createWatchedFiles } from "./watchedFiles.ts";

export interface Urls {
  readonly url: string;
  readonly adminUrl: string;
  /** Where people open the console; undefined when there is none. */
  readonly consoleUrl: string | undefined;
  /** What stands before `/errors/…` in every `error.type`. */
  readonly errorsBaseUrl: string;
}

/** One node. `await using service = await createService(config)` stops it at the end of the block. */
export interface Service extends AsyncDisposable {
  /** Usable once `start` has resolved. */
  readonly store: Store;
  /**
   * Prepares the store, waiting for one that is away, then listens. Rejects when that is impossible.
   * @param onPrepared what has to be done on the prepared store before the service is ready.
   */
  readonly start: (onPrepared?: () => Promise<void>) => Promise<Urls>;
  /**
   * Takes an exception that no handler caught. True when it was thrown inside Node's HTTP modules and concerns one connection: that
   * connection is destroyed, and the service continues. On false the state of the process is unknown.
   */
  readonly survive: (error: unknown) => boolean;
  /** Reads at once the files that are watched: of TLS, and of the admin token. A problem is logged, and what was read before stays. */
  readonly reloadFiles: () => Promise<void>;
  /** Is not ready any more, goes on for so many milliseconds (`shutdownDelay` unless told), stops accepting, answers what is on its way, lets running calls end (30 s at most), gives back what is held, and closes the store. */
  readonly stop: (delay?: number) => Promise<void>;
}

/** The page of the console, built and committed. */
const builtFiles = join(import.meta.dirname, "../../ui/dist");
/** The description of `/v2`, generated and committed. */
const descriptionFile = join(import.meta.dirname, "../../docs/openapi.json");
/** The documentation, rendered and committed. */
const documentationDirectory = join(import.meta.dirname, "../../docs/dist");

/** The composition root: nothing else knows how the parts meet. Nothing is opened or listens before `start`. */
export const createService = async (config: Config, overrides: ServiceOverrides): Promise<Service> => {
  const { testClock, log, linger = stopLinger } = overrides;
  const events = createEvents(log);
  const oidc = config.console?.oidc && (await readOidcSettings(config.console.oidc));
  const engine =
    overrides.store ??
    (await openStore({
      ...config,
      clock: testClock ? notAheadOfSystem(testClock) : (overrides.clock ?? systemClock),
      mode: "server",
      log,
    }));
  const clock = testClock ?? overrides.clock ?? engine.clock;
  const metrics = createMetrics({ version, engine: engine.engine, ratelimitStoreDown: config.ratelimitStoreDown });
  metrics.observe("clockOffset", () => [[[], (engine.clock.now() - systemClock.now()) / 1_000]]);
  const tracer = config.tracing && (await openTracing(config.tracing, metrics, events));
  const guarded = guardStore(meterStore(engine, { clock, metrics }), {
    clock,
    onStateChange: (state, { cause }) => {
      metrics.storeState(state === "up", config.counters === undefined);
      if (state === "up") events.storeBack();
      else events.storeAway(cause, config.ratelimitStoreDown);
    },
  });
  const counterServer =
    config.counters &&
    (await openCounters(config.counters, {
      ...{ clock, metrics, events, log },
      isTestClock: testClock !== undefined,
      ratelimitStoreDown: config.ratelimitStoreDown,
      trace: tracer?.operation,
    }));
  const ownStore = tracer ? traceStore(guarded, tracer.operation) : guarded;
  const store = counterServer ? { ...ownStore, counters: counterServer.counters } : ownStore;
  const { maxInFlight, maxBodyBytes } = config;
  const capacity = createCapacity({
    clock,
    maxInFlight,
    maxBodyBytes,
    onLimit: metrics.capacityLimit,
    onChange: metrics.capacityTaken,
    onRefused: (resource) => {
      metrics.capacityRefused(resource);
      events.refusedForOthers(resource);
    },
  });
  const clientAddress = createClientAddress(config.trustedProxies);
  const parts = assemble({
    config,
    clock,
    testClock,
    store,
    counterClock: counterServer?.clock,
    usage: async () => (await engine.usage?.()) ?? {},
    metrics,
    events,
    capacity,
    clientAddress,
    flushUsedPermissionsEvery: overrides.flushUsedPermissionsEvery,
    oidc,
    worker: overrides.worker,
    trace: tracer?.operation,
  });
  const { pipeline, authenticator, console: consoleParts, background, endTails } = parts;
  const work = createBackgroundWork(background, { onLate: events.backgroundTaskLate });

  const observer: EdgeObserver = {
    refused: (edge, method, reason) => metrics.refused(edge, method && countedProcedure(method), reason),
    fault: (requestId, error) => events.callFailed({ requestId, procedure: "edge", reason: "unexpected_error", error }),
  };
  const { host, port, tls, maxConnectionAge: maxAge } = config;
  let listener: Listener | undefined;
  const urlOf = ({ address }: Pick<Listener, "address">): string =>
    `${tls ? "https" : "http"}://${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;
  const errorsBaseUrl = (): string => {
    if (config.errorsBaseUrl !== undefined) return config.errorsBaseUrl;
    // The addresses that stand for all of a machine's are none to open.
    const url = urlOf(listener ?? { address: { host, port } }).replace(/\/\/(0\.0\.0\.0|\[::\]):/, "//localhost:");
    return `${url}/docs`;
  };
  const served = testClock ? testableServices : services;
  const health = createHealthService(served);
  const edge = {
    services: served,
    pipeline: tracer ? tracePipeline(pipeline, { tracer, scheme: config.tls ? "https" : "http" }) : pipeline,
    findCaller: bearerCaller(authenticator),
    clock,
    errorsBaseUrl,
    maxBodyBytes,
    observer,
  };
  const publicStreams = createPublicStreams(capacity, clientAddress, unreadTimeout);
  const rpc = { ...edge, routes: compileRpcRoutes(served), health, publicStreams, reflection: config.reflection };
  const isProxy = createIsProxy(config.trustedProxies);
  const consoleEdge =
    consoleParts &&
    createConsoleEdge({
      ...rpc,
      findCaller: sessionCaller(consoleParts.sessions),
      oidc: consoleParts.oidc,
      capacity,
      clientAddress,
      isProxy,
      publicUrl: config.publicUrl,
      files: readStaticFiles(overrides.consoleFiles ?? builtFiles),
    });
  const answerDescription = createInterfaceDescription({ file: descriptionFile, publicUrl: config.publicUrl, isProxy });
  const documentation = config.docs
    ? createDocumentationEdge({
        directory: overrides.documentationFiles ?? documentationDirectory,
        isProxy,
        observer,
      })
    : undefined;
  const consolePort = config.console?.port;
  const v2 = createV2Edge({ ...edge, answerDescription });
  const handler = createDispatcher(v2, createConnectEdge(rpc), {
    console: consolePort === undefined ? consoleEdge : undefined,
    documentation,
  });
  const streams = createGrpcEdge(rpc);
  const guards = createConnectionGuards(capacity, clientAddress, isProxy, clock);

  let ready = false;
  let consoleListener: Listener | undefined;
  const starting = new AbortController();
  const files = createWatchedFiles({ metrics, events, lookEvery: overrides.lookAtFilesEvery });
  let admin: OpenAdmin | undefined;

  const start: Service["start"] = async (onPrepared) => {
    const material =
      tls &&
      (await files.tls("service", tls, (next) => {
        listener?.setTls(next);
        consoleListener?.setTls(next);
      }));
    admin = await (overrides.worker?.openAdmin ?? openAdmin)({
      config: config.admin,
      ...{ files, metrics, events },
      isReady: () => ready,
      onClientRefused: countClientRefusals("admin", config.admin.tls, metrics, events),
    });
    await prepareStore(store, events, starting.signal);
    metrics.storeState(true, counterServer === undefined);
    await counterServer?.start(starting.signal);
    await onPrepared?.();
    const onFault = (error: unknown) => observer.fault("none", error);
    const clients = { allowedNames: tls?.allowedNames, onClientRefused: countClientRefusals("service", tls, metrics, events) };
    const bounded = { host, guards, errorsBaseUrl, linger, maxAge, clock, onFault, ...clients };
    const console = { ...bounded, unreadRequestHeaders };
    listener = await listenOn("HOST, PORT", host, port, () =>
      createListener({ ...(consoleEdge && consolePort === undefined ? console : bounded), tls: material?.(), port, handler, streams }),
    );
    if (consoleEdge && consolePort !== undefined) {
      const alone = createOnlyPages(createV2Edge({ ...edge, services: [] }), { console: consoleEdge, documentation });
      consoleListener = await listenOn("HOST, CONSOLE_PORT", host, consolePort, () =>
        createListener({ ...console, tls: material?.(), port: consolePort, handler: alone }),
      );
    }
    // The files may have changed while the ports were being opened.
    const current = material?.();
    if (current) for (const each of [listener, consoleListener]) each?.setTls(current);
    // Not before: a start that fails here has one reason, and nothing to say of a store of which nothing is wrong.
    events.storeOpened({ engine: engine.engine, ...engine.facts?.() });
    await work.start(starting.signal);
    ready = true;
    health.setState("serving");
    const url = urlOf(listener);
    const consoleUrl = consoleEdge && `${config.publicUrl ?? urlOf(consoleListener ?? listener)}/ui`;
    return { url, adminUrl: admin.url, consoleUrl, errorsBaseUrl: errorsBaseUrl() };
  };

  const release = async (delay: number): Promise<void> => {
    const wasReady = ready;
    ready = false;
    health.setState("draining");
    starting.abort(new Error("the service was stopped while it started"));
    if (wasReady && delay > 0) await sleep(delay);
    endTails();
    files.stop();
    // What never ran has nothing to finish, and a store that was never reached would only be said to be away.
    await runAll([
      () => listener?.stop(),
      () => consoleListener?.stop(),
      work.stop,
      store.close,
      () => counterServer?.stop(),
      () => tracer?.stop(),
      () => admin?.stop(),
      async () => events.sumUp(),
    ]);
  };
  let stopping: Promise<void> | undefined;
  const stop: Service["stop"] = (delay = config.shutdownDelay) => (stopping ??= release(delay));

  return {
    store,
    start,
    stop,
    survive: (error) => {
      if (!isConnectionFault(error)) return false;
      destroyCurrentConnection();
      metrics.connectionFault();
      events.connectionFault(error);
      return true;
    },
    reloadFiles: files.reload,
    [Symbol.asyncDispose]: () => stop(),
  };
};
