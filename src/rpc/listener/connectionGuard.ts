import type { Share } from "../../domain/fairShares.ts";
import type { Capacity } from "../capacity.ts";
import { type ClientAddress, networkOf } from "../clientAddress.ts";
import { freeStreams, ordinaryHeaderBytes, streamStep } from "../limits.ts";

/** What one connection may take from the others, beside its calls. */
export interface ConnectionGuard {
  /**
   * Called for every request with its header fields as they came, names and values in turns. `no`: it is not to be looked
   * at; `gone`: nothing of its connection is, for it belongs to the caller alone.
   */
  readonly arrive: (rawHeaders: readonly string[], forwardedFor: string | undefined) => "yes" | "no" | "gone";
  /** A stream opens: whether there is room for it. */
  readonly open: () => boolean;
  /** A stream that was open ended. `isReset`: because the client took it back. Says whether the connection may go on. */
  readonly end: (isReset: boolean) => boolean;
  /** Bytes of a body come that nobody reads: whether they may still be swallowed. */
  readonly swallow: (bytes: number) => boolean;
  /** The connection is closed. */
  readonly close: () => void;
}

/** Where a guard is kept: on an HTTP/1.1 socket or an HTTP/2 session. */
export interface Guarded {
  guard?: ConnectionGuard;
}

/** Makes the guard of a connection from an address. */
export type GuardConnection = (remoteIp: string | undefined) => ConnectionGuard;

type GuardedResources = Pick<Capacity, "streams" | "headers" | "resets" | "swallowed">;

/** Connections are counted by their address; requests that a trusted proxy hands on by the address that it names. */
export const createGuardConnection =
  ({ streams, headers, resets, swallowed }: GuardedResources, clientAddress: ClientAddress): GuardConnection =>
  (remoteIp) => {
    const network = networkOf(clientAddress({ remoteIp, forwardedFor: undefined }));
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
        return caller === network ? "gone" : "no";
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
        if (shares.length > 0 && open < room - 2 * streamStep) {
          shares.pop()?.give();
          room -= streamStep;
        }
        return !isReset || resets.spend([network], 1);
      },
      swallow: (bytes) => swallowed.spend([network], bytes),
      close: () => {
        for (const share of shares) share.give();
      },
    };
  };
