import type { ServerHttp2Session, SessionState } from "node:http2";
import { silentSessionChecks } from "./limits.ts";

/** Changes with every new stream, and with data in either direction. */
const progress = ({
  lastProcStreamID,
  localWindowSize,
  remoteWindowSize,
  effectiveRecvDataLength,
  outboundQueueSize,
}: SessionState): string => [lastProcStreamID, localWindowSize, remoteWindowSize, effectiveRecvDataLength, outboundQueueSize].join();

/**
 * A check to be called at intervals for one HTTP/2 connection: when no call came and no data moved for long, it is
 * asked to go (GOAWAY). Streams that are open, such as a quiet watch, go on. node's own session timeout would keep
 * every closed connection in memory until it fires.
 */
export const createSilenceCheck = (session: Pick<ServerHttp2Session, "state" | "close">): (() => void) => {
  let last: string | undefined;
  let silent = 0;
  return () => {
    const now = progress(session.state);
    silent = now === last ? silent + 1 : 0;
    last = now;
    if (silent === silentSessionChecks) session.close();
  };
};
