import type { Clock } from "../../domain/clock.ts";
import { createFairRate, type FairRate } from "../../domain/fairness/fairRate.ts";
import { createFairShares, type FairShares } from "../../domain/fairness/fairShares.ts";
import * as limits from "../http/limits.ts";

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
  /** Bytes of bodies that are awaited or in work, and of what large ones are decoded to. */
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
  const rate = (resource: Resource, capacity: number) =>
    createFairRate({ clock, capacity, interval: limits.rateInterval, onRefused: () => onRefused?.(resource) });
  return {
    calls: createFairShares({ capacity: maxInFlight, ...hooks("calls") }),
    bodies: createFairShares({ capacity: bodyBytes, ...hooks("bodies") }),
    connections: createFairShares({ capacity: limits.connections, most: [addressConnections], ...hooks("connections") }),
    streams: createFairShares({ capacity: maxInFlight, ...hooks("streams") }),
    publicStreams: createFairShares({
      capacity: limits.openStreamUnits,
      most: [limits.addressStreamUnits, limits.connectionStreamUnits],
      ...hooks("public_streams"),
    }),
    rootKeyReads: createFairShares({ capacity: limits.rootKeyReads, ...hooks("root_key_reads") }),
    identityChecks: createFairShares({ capacity: limits.identityChecks, ...hooks("identity_checks") }),
    headers: rate("headers", limits.excessHeaderBytes),
    resets: rate("resets", limits.streamResets),
    swallowed: rate("swallowed", limits.swallowedBytes),
  };
};
