import { readFile } from "node:fs/promises";
import { type Clock, systemClock } from "../../base/clock.ts";
import { type CounterServerAddress, describeCounterServer } from "../../secrets/counterServerAddress.ts";
import type { CounterServer, ServerFacts } from "../port/counterServer.ts";
import type { StoreLog } from "../port/storeLog.ts";
import { createStoreClock } from "../storeClock.ts";
import { tellDifference } from "../tellDifference.ts";
import { type Link, openLink, type TlsMaterial } from "./link.ts";
import { lookAtServer } from "./lookAtServer.ts";
import { createServers } from "./servers.ts";
import { createValkeyCounters, type ValkeyCountersOptions } from "./valkeyCounters.ts";
import { CounterServerUnusableError, describeRefusal, misconfigurationIn, toStoreError } from "./valkeyErrors.ts";

export interface CounterServerOptions {
  readonly address: CounterServerAddress;
  /** Paths of PEM files; undefined without TLS. */
  readonly tls: Readonly<Record<"caFile" | "certFile" | "keyFile", string | undefined>> | undefined;
  /** By what windows are told; the server's clock unless given. */
  readonly time?: ValkeyCountersOptions["time"];
  /** This machine's, the system's unless given. */
  readonly clock?: Clock;
  readonly log?: StoreLog;
}

/** A key that shows whether the server takes writes. */
const PING_KEY = "latchkey:ping";
const PING_TTL_MS = "60000";

const readTls = async ({ caFile, certFile, keyFile }: NonNullable<CounterServerOptions["tls"]>): Promise<TlsMaterial> => {
  const read = (file: string): Promise<string> =>
    readFile(file, "utf8").catch((error: unknown) => {
      throw new CounterServerUnusableError(`${file} cannot be read`, { cause: error });
    });
  return {
    ...(caFile !== undefined && { ca: await read(caFile) }),
    ...(certFile !== undefined && { cert: await read(certFile) }),
    ...(keyFile !== undefined && { key: await read(keyFile) }),
  };
};

/** The server of `COUNTERS_URL`. Nothing is connected before `prepare`. */
export const openCounterServer = ({
  address,
  tls,
  time = "server",
  clock: local = systemClock,
  log,
}: CounterServerOptions): CounterServer => {
  const where = describeCounterServer(address);
  const clock = createStoreClock(local);
  const tell = tellDifference(clock, local, log, { whose: "the counter server's", effect: "by which rate limits count" });
  const isCluster = address.kind === "cluster";
  let facts: ServerFacts | undefined;
  let warned: string | undefined;

  const look = async (link: Link): Promise<void> => {
    for (const [i, result] of (await Promise.allSettled(link.nodes().map(lookAtServer))).entries()) {
      if (result.status === "rejected") {
        // Of a cluster a node may be down.
        if (result.reason instanceof CounterServerUnusableError || !isCluster) throw result.reason;
        continue;
      }
      if (i === 0) facts = { server: where, ...result.value };
      const { warning } = result.value;
      if (warning !== undefined && warning !== warned) log?.warn({ server: where }, `counter server: ${warning}`);
      warned = warning;
    }
  };

  const open = async (): Promise<Link> => {
    let link: Link | undefined;
    try {
      link = await openLink({ address, readTls: tls && (() => readTls(tls)) });
      await look(link);
      return link;
    } catch (error) {
      link?.close();
      const reason = error instanceof CounterServerUnusableError ? error.message : misconfigurationIn(error);
      if (reason === undefined) throw describeRefusal(error, address.isTls);
      throw new CounterServerUnusableError(`the counter server, ${where}, cannot be used: ${reason}`, { cause: error });
    }
  };

  const servers = createServers({ open, clock, local, onLook: tell, log });

  return {
    counters: createValkeyCounters({ link: servers.link, time }),
    clock,
    isCluster,
    prepare: servers.start,
    facts: () => facts,
    ping: async () => {
      try {
        const link = servers.link();
        // A cluster is there when any of its nodes is: the others are told by what they are asked.
        if (isCluster) await Promise.any(link.nodes().map(({ send }) => send(["TIME"])));
        else await link.send(PING_KEY, ["SET", PING_KEY, "1", "PX", PING_TTL_MS]);
      } catch (error) {
        throw toStoreError(error, "read");
      }
    },
    close: servers.close,
  };
};
