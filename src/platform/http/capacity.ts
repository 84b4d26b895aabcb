import type { Clock } from "../base/clock.ts";
import { createFairRate, type FairRate } from "../fairness/fairRate.ts";
import { createFairShares, type FairShares } from "../fairness/fairShares.ts";
import * as limits from "./limits.ts";

/** What callers share, as it is called in the metrics. */
export type Resource =
  | "calls"
  | "bodies"
  | "connections"
  | "streams"
  | "public_streams"
  | "root_key_reads"
  | "identity_checks"
  | "headers"
  | "resets"
  | "swallowed";

/**
 * Everything of this node that one caller could take from the others (DESIGN §9). The path of a caller is, of
 * calls and bodies, the root key and then the address, of all else the address.
 */
export interface Capacity {
  /** Calls in work that wait for something; one that is answered at once, or whose body is still decoded, takes none of it. */
  readonly calls: FairShares;
  /** Bytes of bodies that are awaited or in work, and of what those with many values are decoded to. */
  readonly bodies: FairShares;
  readonly connections: FairShares;
  /** Open HTTP/2 streams. */
  readonly streams: FairShares;
  /** Streams without credentials, by address and connection. */
  readonly publicStreams: FairShares;
  /** Reads of the store for root keys that are not known. */
  readonly rootKeyReads: FairShares;
  /** People on their way to the identity provider or back, for whom it is asked. */
  readonly identityChecks: FairShares;
  /** Bytes of headers beyond what is ordinary. */
  readonly headers: FairRate;
  /** Streams that clients took back before they were answered, or that were refused them, beyond those that were answered. */
  readonly resets: FairRate;
  /** Bytes of bodies that were answered unread. */
  readonly swallowed: FairRate;
}

export interface CapacityOptions {
  readonly clock: Clock;
  readonly maxInFlight: number;
  readonly maxBodyBytes: number;
  /** Bytes of bodies that are awaited or in work; unless told, enough for several of the largest. */
  readonly bodyBytes?: number;
  /** The most connections of one address, unless told as in `limits.ts`. */
  readonly addressConnections?: number;
  /** Told at once what there is of each resource that callers hold for a while. */
  readonly onLimit?: (resource: Resource, limit: number) => void;
  readonly onChange?: (resource: Resource, taken: number) => void;
  /** Hears of everything that was refused, or taken away, for the sake of other callers. */
  readonly onRefused?: (resource: Resource) => void;
}

export const createCapacity = (options: CapacityOptions): Capacity => {
  const { clock, maxInFlight, maxBodyBytes, onChange, onRefused } = options;
  const {
    bodyBytes = Math.max(limits.leastBodyBytes, limits.largestBodies * maxBodyBytes),
    addressConnections = limits.addressConnections,
  } = options;
  const hooks = (resource: Resource) => ({
    onChange: (taken: number) => onChange?.(resource, taken),
    onRefused: () => onRefused?.(resource),
  });
  const shares = (resource: Resource, capacity: number, most?: readonly number[]) => {
    options.onLimit?.(resource, capacity);
    return createFairShares({ capacity, ...(most && { most }), ...hooks(resource) });
  };
  const rate = (resource: Resource, capacity: number) =>
    createFairRate({ clock, capacity, interval: limits.rateInterval, onRefused: () => onRefused?.(resource) });
  return {
    calls: shares("calls", maxInFlight),
    bodies: shares("bodies", bodyBytes),
    connections: shares("connections", limits.connections, [addressConnections]),
    streams: shares("streams", maxInFlight),
    publicStreams: shares("public_streams", limits.openStreamUnits, [limits.addressStreamUnits, limits.connectionStreamUnits]),
    rootKeyReads: shares("root_key_reads", limits.rootKeyReads),
    identityChecks: shares("identity_checks", limits.identityChecks),
    headers: rate("headers", limits.excessHeaderBytes),
    resets: rate("resets", limits.streamResets),
    swallowed: rate("swallowed", limits.swallowedBytes),
  };
};
