import type { Clock } from "../base/clock.ts";
import type { Share } from "../fairness/fairShares.ts";
import type { Capacity } from "./capacity.ts";
import { type ClientAddress, networkOf } from "./clientAddress.ts";
import * as limits from "./limits.ts";

/** How a stream that was open ended: with the whole of its answer, by a reset before that, or with its connection. */
export type StreamEnding = "answered" | "reset" | "left";

type Protocol = "http1" | "http2";

/** What one connection may take from the others, beside its calls. */
export interface ConnectionGuard {
  /**
   * Called for every request with its header fields as they came, names and values in turns. `no`: it is not to be looked
   * at; `gone`: nor is anything of its connection, which belongs to that caller alone.
   */
  readonly arrive: (rawHeaders: readonly string[], forwardedFor: string | undefined) => "yes" | "no" | "gone";
  /**
   * A stream opens; undefined when there is no room for it. What is returned is to be called when it ends, and says
   * whether the connection may go on.
   */
  readonly open: () => ((ending: StreamEnding) => boolean) | undefined;
  /**
   * A stream was refused, which costs about as much as serving it. Says whether the connection may go on.
   * @param isOpen it was let in before; being answered then earns it nothing.
   */
  readonly refuse: (isOpen: boolean) => boolean;
  /** Charges a discarded chunk of a body, at least 16 KiB; false when the budget is spent. */
  readonly swallow: (bytes: number) => boolean;
  /** Called when an HTTP/1.1 connection is closed for abuse. Repeated offences bar the address for `barTime`. */
  readonly offend: () => void;
  /** The connection is closed. */
  readonly close: () => void;
}

/** Where a guard is kept: on an HTTP/1.1 socket or an HTTP/2 session. */
export interface Guarded {
  guard?: ConnectionGuard;
}

/** The guards of all connections. */
export interface ConnectionGuards {
  /** Counts a connection; undefined when its address is over its limit. Call `give` when it closes. */
  readonly accept: (remoteIp: string) => Pick<Share, "give"> | undefined;
  readonly guard: (remoteIp: string | undefined) => ConnectionGuard;
  /** Connections of this protocol from there were recently closed for abuse. */
  readonly isBarred: (remoteIp: string | undefined, protocol: Protocol) => boolean;
}

type GuardedResources = Pick<Capacity, "connections" | "streams" | "headers" | "resets" | "swallowed">;

const uncounted: Pick<Share, "give"> = { give: () => undefined };

/**
 * Connections are counted by their address; requests that a trusted proxy hands on by the address that it names. The
 * connection of a proxy serves many: it is not counted, and never ended for what one of them does.
 */
export const createConnectionGuards = (
  { connections, streams, headers, resets, swallowed }: GuardedResources,
  clientAddress: ClientAddress,
  isProxy: (remoteIp: string | undefined) => boolean,
  clock: Clock,
): ConnectionGuards => {
  const networkFrom = (remoteIp: string | undefined): string => networkOf(clientAddress({ remoteIp, forwardedFor: undefined }));

  /** Until when an address is barred; the oldest come first. */
  const barred = new Map<string, number>();
  const barredName = (network: string, protocol: Protocol): string => `${protocol} ${network}`;
  const bar = (network: string, protocol: Protocol): void => {
    const now = clock.monotonic();
    const offender = barredName(network, protocol);
    for (const [name, until] of barred) {
      if (until > now) break;
      barred.delete(name);
    }
    barred.delete(offender);
    barred.set(offender, now + limits.barTime);
  };

  const guard = (remoteIp: string | undefined): ConnectionGuard => {
    const network = networkFrom(remoteIp);
    const isShared = isProxy(remoteIp);
    const shares: Share[] = [];
    let open = 0;
    let room = limits.freeStreams;
    /** Streams that were answered, as far as they count, less those that were taken back or refused. */
    let balance = 0;

    /**
     * What is answered pays for what is taken back, so that nobody loses a connection because answers came too late for
     * his deadlines. Only what is beyond that is counted together with the other connections of the address.
     */
    const charge = (amount: number): boolean => {
      balance -= amount;
      if (isShared || balance >= 0 || resets.spend([network], amount) || balance >= -limits.toleratedResets) return true;
      bar(network, "http2");
      return false;
    };

    return {
      arrive: (rawHeaders, forwardedFor) => {
        let bytes = 0;
        for (let i = 0; i < rawHeaders.length; i++) bytes += (rawHeaders[i] as string).length;
        if (bytes <= limits.ordinaryHeaderBytes) return "yes";
        const caller = networkOf(clientAddress({ remoteIp, forwardedFor }));
        if (headers.spend([caller], bytes - limits.ordinaryHeaderBytes)) return "yes";
        if (isShared) return "no";
        bar(network, "http2");
        return "gone";
      },
      open: () => {
        if (open >= room) {
          const share = streams.take([network], limits.streamStep);
          if (share === undefined) return undefined;
          shares.push(share);
          room += limits.streamStep;
        }
        open++;
        const opened = clock.monotonic();
        return (ending) => {
          open--;
          // Not at once: the next stream would ask for it again.
          if (shares.length > 0 && open <= room - limits.streamStep - limits.freeStreams / 2) {
            shares.pop()?.give();
            room -= limits.streamStep;
          }
          if (ending === "answered") balance = Math.min(balance + 1, limits.resetsEarned);
          return ending !== "reset" || clock.monotonic() - opened >= limits.excusedResetAge || charge(1);
        };
      },
      refuse: (isOpen) => charge(isOpen ? 2 : 1),
      swallow: (bytes) => swallowed.spend([network], Math.max(bytes, limits.swallowedPieceBytes)),
      offend: () => {
        if (!isShared && !resets.spend([network], limits.offenceCost)) bar(network, "http1");
      },
      close: () => {
        for (const share of shares) share.give();
      },
    };
  };

  return {
    accept: (remoteIp) => (isProxy(remoteIp) ? uncounted : connections.take([networkFrom(remoteIp)], 1)),
    guard,
    isBarred: (remoteIp, protocol) =>
      barred.size > 0 && (barred.get(barredName(networkFrom(remoteIp), protocol)) ?? Number.NEGATIVE_INFINITY) > clock.monotonic(),
  };
};
