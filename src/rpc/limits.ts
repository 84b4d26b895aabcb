/** Bounds of the network edge, set on purpose rather than left at defaults. Times in milliseconds. */

/** Request line and headers of one HTTP/1.1 request, and one HTTP/2 header list, in bytes. */
export const maxHeaderBytes: number = 16 * 1024;
/** Header fields of one request; HTTP/1.1 drops further ones, HTTP/2 resets the stream. */
export const maxHeaders = 128;

/** A connection that has not shown its protocol, or not finished its TLS handshake, by then is dropped. */
export const handshakeTimeout = 10_000;
/** From the start of an HTTP/1.1 request to the end of its headers. */
export const headersTimeout = 10_000;
/** From the start of a request to the end of its body, on either protocol (protocol §9 `request_timeout`). */
export const requestTimeout = 60_000;
/** From arrival to the answer, at most (protocol §9; grpc §3). */
export const callTimeout = 60_000;
/** How long an idle HTTP/1.1 connection is kept: longer than the 60 s after which common load balancers drop theirs. */
export const keepAliveTimeout = 75_000;
/** Silence on an HTTP/1.1 connection while a call runs or its answer is sent; above `callTimeout` on purpose. */
export const inactivityTimeout = 120_000;
/** How often HTTP/2 connections are looked at, and after how many looks without movement one is asked to go: 5 minutes. */
export const sessionCheckInterval = 15_000;
export const silentSessionChecks = 20;
/** TCP keep-alive probes start after this; they end connections whose other end vanished. */
export const probeDelay = 60_000;

/** How long stopping waits for running calls before it cuts connections (protocol §9). */
export const stopGrace = 30_000;
/** After an answer to what could not be read: how long the rest of it is swallowed so that the answer can be read. */
export const lingerTimeout = 2_000;

/** Rest of a request body that is swallowed after an early answer, so that the client gets to read that answer. */
export const maxDrainBytes: number = 64 * 1024 * 1024;
export const drainTimeout = 10_000;
/** A declared HTTP/1.1 body up to this size does not cost the connection when it is answered unread. */
export const keptRemainder: number = 64 * 1024;

/** Calls at the same time on one HTTP/2 connection. */
export const maxConcurrentStreams = 256;
/** Memory of one HTTP/2 connection, in megabytes (queued output, header tables, streams). */
export const maxSessionMegabytes = 32;
/** Receive window of an HTTP/2 stream, in bytes. */
export const streamWindow: number = 256 * 1024;
/** Rapid reset: streams that a client may reset at once, and per second. More ends the connection. */
export const streamResetBurst = 1_000;
export const streamResetRate = 200;
/** Invalid frames and refused streams after which an HTTP/2 connection is ended. */
export const maxInvalidFrames = 100;
export const maxRejectedStreams = 100;
