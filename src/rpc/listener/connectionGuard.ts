import { constants, type Http2Session } from "node:http2";
import type { Share } from "../../domain/fairShares.ts";
import type { Capacity } from "../capacity.ts";
import { type ClientAddress, networkOf } from "../clientAddress.ts";
import { freeStreams, ordinaryHeaderBytes, streamStep } from "../limits.ts";

/** What one connection may take from the others, beside its calls. */
export interface ConnectionGuard {
  /**
   * Called for every request with its header fields as they came, names and values in turns. `no`: it is not to be looked
   * at; `gone`: nor is anything of its connection, which belongs to that caller alone.
   */
  readonly arrive: (rawHeaders: readonly string[], forwardedFor: string | undefined) => "yes" | "no" | "gone";
  /** A stream opens: whether there is room for it. */
  readonly open: () => boolean;
  /** A stream that was open ended. `isReset`: with an error, of the client or of ours. Says whether the connection may go on. */
  readonly end: (isReset: boolean) => boolean;
  /** A stream was refused, which costs about as much as serving it. Says whether the connection may go on. */
  readonly refuse: () => boolean;
  /** Bytes of a body come that nobody reads: whether they may still be swallowed. */
  readonly swallow: (bytes: number) => boolean;
  /** The connection is closed. */
  readonly close: () => void;
}

/** Where a guard is kept: on an HTTP/1.1 socket or an HTTP/2 session. */
export interface Guarded {
  guard?: ConnectionGuard;
}

/** The guards of all connections. */
export interface ConnectionGuards {
  readonly guard: (remoteIp: string | undefined) => ConnectionGuard;
  /** Connections from there were closed a moment ago for what they cost: another one with many streams is not to begin yet. */
  readonly isBarred: (remoteIp: string | undefined) => boolean;
}

type GuardedResources = Pick<Capacity, "streams" | "headers" | "resets" | "swallowed">;

/** Ends an HTTP/2 connection with everything on it; its GOAWAY says why. */
export const expel = (session: Http2Session): void => {
  // No error of ours, which `undefined` would make of it: node then takes the code for the error's, or sends none.
  session.destroy(null as unknown as undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
};

/**
 * Connections are counted by their address; requests that a trusted proxy hands on by the address that it names. The
 * connection of a proxy serves many, and is never closed for what one of them does.
 */
export const createConnectionGuards = (
  { streams, headers, resets, swallowed }: GuardedResources,
  clientAddress: ClientAddress,
  isProxy: (remoteIp: string | undefined) => boolean,
): ConnectionGuards => {
  const networkFrom = (remoteIp: string | undefined): string => networkOf(clientAddress({ remoteIp, forwardedFor: undefined }));

  const guard = (remoteIp: string | undefined): ConnectionGuard => {
    const network = networkFrom(remoteIp);
    const isShared = isProxy(remoteIp);
    const shares: Share[] = [];
    let open = 0;
    let room = freeStreams;

    return {
      arrive: (rawHeaders, forwardedFor) => {
        let bytes = 0;
        for (let i = 0; i < rawHeaders.length; i++) bytes += (rawHeaders[i] as string).length;
        if (bytes <= ordinaryHeaderBytes) return "yes";
        const caller = networkOf(clientAddress({ remoteIp, forwardedFor }));
        if (headers.spend([caller], bytes - ordinaryHeaderBytes)) return "yes";
        return isShared ? "no" : "gone";
      },
      open: () => {
        if (open >= room) {
          const share = streams.take([network], streamStep);
          if (share === undefined) return false;
          shares.push(share);
          room += streamStep;
        }
        open++;
        return true;
      },
      end: (isReset) => {
        open--;
        // Not at once: the next stream would ask for it again.
        if (shares.length > 0 && open <= room - streamStep - freeStreams / 2) {
          shares.pop()?.give();
          room -= streamStep;
        }
        return !isReset || isShared || resets.spend([network], 1);
      },
      refuse: () => isShared || resets.spend([network], 1),
      swallow: (bytes) => swallowed.spend([network], bytes),
      close: () => {
        for (const share of shares) share.give();
      },
    };
  };

  return {
    guard,
    isBarred: (remoteIp) => {
      const path = [networkFrom(remoteIp)];
      return headers.wasRefused(path) || resets.wasRefused(path);
    },
  };
};
