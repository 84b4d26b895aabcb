import type { Clock } from "../../platform/base/clock.ts";
import type { Config } from "../../platform/config/loadConfig.ts";
import { version } from "../../platform/config/version.ts";
import type { Events } from "../../platform/telemetry/events.ts";
import { createMetrics } from "../../platform/telemetry/metrics.ts";
import { acrossProcesses } from "../../platform/telemetry/processMetrics.ts";
import { createWorkerMetrics } from "../../platform/telemetry/workerMetrics.ts";
import { countClientRefusals } from "../countClientRefusals.ts";
import type { Urls } from "../createService.ts";
import { type OpenAdmin, openAdmin } from "../openAdmin.ts";
import { createWatchedFiles } from "../watchedFiles.ts";
import { createPageCollector } from "./collectPages.ts";
import { forkWorker, type WorkerEnd, type WorkerProcess } from "./forkWorker.ts";
import type { ToPrimary, ToWorker, WorkerStart } from "./messages.ts";
import { createWorkerRecorder } from "./recordWorkers.ts";
import { ASK_EVERY_MS, createSilenceWatch } from "./silenceWatch.ts";
import { createWorkerPages } from "./workerPages.ts";

/** A worker that ended is replaced at once; one that ends again and again, after twice as long each time. */
const FIRST_REST_MS = 500;
const LONGEST_REST_MS = 30_000;
/** One that served for so long has nothing to do with the ends before. */
const STEADY_AFTER_MS = 60_000;

/** Why a service ends otherwise than well. */
export interface WorkersFailure {
  /** For the user. */
  readonly lines: readonly string[];
  readonly exitCode: number;
}

export interface SuperviseOptions {
  readonly config: Pick<Config, "workers" | "admin" | "port" | "ratelimitStoreDown">;
  readonly clock: Clock;
  readonly events: Events;
  /** Takes whole lines of the workers' logs. */
  readonly writeLog: (lines: string) => void;
}

/** The processes of one service. */
export interface Workers {
  /** Serves the admin port, then starts all workers. Resolves once all of them serve. Rejects when the admin port cannot be had. */
  readonly start: () => Promise<{ readonly urls: Urls; readonly nextSteps: readonly string[] }>;
  /** Resolves, at most once, when workers cannot start and nobody serves; the others are still to be stopped. */
  readonly failed: Promise<WorkersFailure>;
  /** As `Service.reloadFiles`, in all processes. */
  readonly reload: () => void;
  /** Has all workers finish what they do, as a service of one process does. Resolves when all have ended, to what kept any of them from a good end. */
  readonly stop: (reason: string) => Promise<WorkersFailure | undefined>;
}

interface Slot {
  readonly index: number;
  process: WorkerProcess | undefined;
  isReady: boolean;
  readyAt: number;
  /** Ends in a row. */
  ends: number;
  /** Until it is started again. */
  timer: NodeJS.Timeout | undefined;
  complaints: string[];
}

const endedBy = ({ code, signal }: WorkerEnd): string => signal ?? `exit code ${code}`;

/** What a worker complained of, or else how it ended. */
const failureOf = ({ index, complaints }: Slot, end: WorkerEnd, doing: "started" | "stopped"): WorkersFailure => ({
  lines: complaints.length > 0 ? complaints : [`latchkey: worker ${index} ended by ${endedBy(end)} while it ${doing}`],
  exitCode: end.code || 1,
});

/** Starts the workers of a service, replaces those that end, and speaks for all of them on the admin port. It opens no store. */
export const superviseWorkers = ({ config, clock, events, writeLog }: SuperviseOptions): Workers => {
  const slots = Array.from({ length: config.workers }, (_, i): Slot => {
    return { index: i + 1, process: undefined, isReady: false, readyAt: 0, ends: 0, timer: undefined, complaints: [] };
  });
  const metrics = createMetrics({ version, engine: "", ratelimitStoreDown: config.ratelimitStoreDown });
  const workerMetrics = createWorkerMetrics(config.workers);
  const rules = new Map([...metrics.families, ...workerMetrics.heads].map((head) => [head.name, head.across]));
  const pages = createWorkerPages((name) => rules.get(name) ?? acrossProcesses(name));
  const files = createWatchedFiles({ metrics: workerMetrics, events });

  let first: WorkerStart | undefined;
  let hasStarted = false;
  let stoppingFor: string | undefined;
  let badEnd: WorkersFailure | undefined;
  const started = Promise.withResolvers<WorkerStart>();
  const failed = Promise.withResolvers<WorkersFailure>();
  const ended = Promise.withResolvers<void>();

  const ready = (): readonly Slot[] => slots.filter(({ isReady }) => isReady);
  const running = (): readonly Slot[] => slots.filter(({ process }) => process !== undefined);
  const tellReady = (message: ToWorker): void => {
    for (const slot of ready()) slot.process?.send(message);
  };
  /** One that still starts may have begun to remember, too. */
  const tellOthers = (message: ToWorker, from: Slot): void => {
    for (const slot of running()) if (slot !== from) slot.process?.send(message);
  };
  const collector = createPageCollector(pages, () => {
    tellReady({ type: "page" });
    return ready().map(({ index }) => index);
  });
  const silence = createSilenceWatch(
    (worker) => slots[worker - 1]?.process?.send({ type: "ping" }),
    (worker) => {
      events.workerSilent({ worker });
      slots[worker - 1]?.process?.kill();
    },
  );
  const asking = setInterval(() => silence.round(ready().map(({ index }) => index)), ASK_EVERY_MS).unref();
  const recorder = createWorkerRecorder((worker, message) => {
    const slot = slots[worker - 1];
    if (!slot?.isReady) return false;
    slot.process?.send(message);
    return true;
  });
  const listen = (): Promise<OpenAdmin> =>
    openAdmin({
      config: config.admin,
      ...{ files, events },
      metrics: {
        contentType: metrics.contentType,
        render: async () => {
          await collector.collect();
          return pages.render(await workerMetrics.render());
        },
      },
      isLive: () => running().length > 0,
      // One that is being replaced is no reason to send callers away from the others.
      isReady: () => hasStarted && stoppingFor === undefined && ready().length > 0,
      onClientRefused: countClientRefusals("admin", config.admin.tls, workerMetrics, events),
      profilesOf: { record: recorder.record, workers: config.workers },
    });
  let admin: OpenAdmin | undefined;

  const setReady = (slot: Slot, isReady: boolean): void => {
    slot.isReady = isReady;
    workerMetrics.ready(ready().length);
  };

  const onStarted = (slot: Slot, start: WorkerStart): void => {
    first ??= start;
    // With PORT=0 all workers may have ended, and those that came after them listen elsewhere.
    if (first.urls.url !== start.urls.url) {
      slot.process?.kill();
      return;
    }
    slot.readyAt = clock.monotonic();
    setReady(slot, true);
    if (hasStarted) events.workerBack({ worker: slot.index });
    else if (ready().length === slots.length) {
      hasStarted = true;
      started.resolve(first);
    }
  };

  const onMessage = (slot: Slot, message: ToPrimary): void => {
    silence.heard(slot.index);
    if (message.type === "joined") {
      if (stoppingFor !== undefined) slot.process?.send({ type: "stop", reason: stoppingFor });
    } else if (message.type === "started") onStarted(slot, message.start);
    else if (message.type === "complaint") slot.complaints.push(message.line);
    else if (message.type === "page") collector.take(slot.index, message.text);
    else if (message.type === "recorded") recorder.take(message);
    else if (message.type === "told") tellOthers(message, slot);
  };

  const startAgain = (slot: Slot, end: WorkerEnd): void => {
    if (slot.readyAt > 0 && clock.monotonic() - slot.readyAt >= STEADY_AFTER_MS) slot.ends = 0;
    const rest = slot.ends === 0 ? 0 : Math.min(FIRST_REST_MS * 2 ** (slot.ends - 1), LONGEST_REST_MS);
    slot.ends++;
    workerMetrics.died();
    events.workerEnded({ worker: slot.index, by: endedBy(end), problem: slot.complaints.join("\n") || undefined, restartInMs: rest });
    slot.timer = setTimeout(() => fork(slot), rest);
  };

  const onEnd = (slot: Slot, end: WorkerEnd): void => {
    const wasReady = slot.isReady;
    slot.process = undefined;
    setReady(slot, false);
    collector.retire(slot.index);
    recorder.retire(slot.index);
    silence.heard(slot.index);
    if (stoppingFor !== undefined) {
      if (end.code !== 0 && wasReady) badEnd = failureOf(slot, end, "stopped");
      if (running().length === 0) ended.resolve();
    } else if (wasReady || (hasStarted && ready().length > 0)) startAgain(slot, end);
    else failed.resolve(failureOf(slot, end, "started"));
  };

  /** The port of a service that was given 0, once nobody listens any more. */
  const portThatWas = (): Readonly<Record<string, string>> => {
    const url = first?.urls.url;
    return config.port === 0 && url !== undefined && running().length === 0 ? { PORT: new URL(url).port } : {};
  };

  const fork = (slot: Slot): void => {
    slot.complaints = [];
    slot.readyAt = 0;
    try {
      slot.process = forkWorker({
        index: slot.index,
        env: portThatWas(),
        onMessage: (message) => onMessage(slot, message),
        onLog: writeLog,
        onEnd: (end) => onEnd(slot, end),
      });
    } catch (error) {
      // The machine has no room for another process, such as ENOMEM.
      slot.complaints.push(`latchkey: worker ${slot.index} cannot be started: ${error instanceof Error ? error.message : String(error)}`);
      setImmediate(() => onEnd(slot, { code: 1, signal: null }));
    }
  };

  return {
    start: async () => {
      admin = await listen();
      if (stoppingFor === undefined) for (const slot of slots) fork(slot);
      const { urls, nextSteps } = await started.promise;
      return { urls: { ...urls, adminUrl: admin.url }, nextSteps };
    },
    failed: failed.promise,
    reload: () => {
      tellReady({ type: "reload" });
      void files.reload();
    },
    stop: async (reason) => {
      stoppingFor ??= reason;
      for (const { timer, process } of slots) {
        clearTimeout(timer);
        process?.send({ type: "stop", reason });
      }
      files.stop();
      // Until then they are asked: one that hangs would keep the others waiting for its end.
      if (running().length > 0) await ended.promise;
      clearInterval(asking);
      await admin?.stop();
      return badEnd;
    },
  };
};
