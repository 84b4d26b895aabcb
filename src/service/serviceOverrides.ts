import type { Clock, SettableClock } from "../platform/base/clock.ts";
import type { Siblings } from "../platform/cache/siblings.ts";
import type { Store } from "../platform/storage/port/store.ts";
import type { Log } from "../platform/telemetry/log.ts";
import type { OpenAdmin, OpenAdminOptions } from "./openAdmin.ts";

/** What differs from the service as `latchkey serve` starts it in one process. */
export interface ServiceOverrides {
  /** Instead of the store's. */
  readonly clock?: Clock;
  /** Instead of both: one that callers may turn, by `testing.setTime` (DESIGN: a test clock). */
  readonly testClock?: SettableClock;
  readonly log: Log;
  /** How long connections without a call are kept when it stops, in milliseconds, if not for a second. */
  readonly linger?: number;
  /** How often it is written down which permissions root keys use, in milliseconds, if not every 5 s. */
  readonly flushUsedPermissionsEvery?: number | undefined;
  /** How often watched files are looked at, in milliseconds, if not every 2 s. */
  readonly lookAtFilesEvery?: number | undefined;
  /** Directory of the console's built files, instead of `ui/dist` of this installation. */
  readonly consoleFiles?: string | undefined;
  /** Directory of the rendered documentation, instead of `docs/dist` of this installation. */
  readonly documentationFiles?: string | undefined;
  /** Instead of the store that the configuration names. */
  readonly store?: Store;
  /** Of a worker of a service with several: who asks for its metrics, and who hears of its changes. */
  readonly worker?: WorkerParts | undefined;
}

/** What a worker has in the place of parts of its own. */
export interface WorkerParts {
  readonly siblings: Siblings;
  /** Instead of a server on the admin port. */
  readonly openAdmin: (options: Pick<OpenAdminOptions, "metrics">) => Promise<OpenAdmin>;
}
