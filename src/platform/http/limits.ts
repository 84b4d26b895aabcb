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
/** Of the most that a connection may last: as many leave earlier as later, so that not all of them come back at once. */
export const ageJitter = 0.1;
/** How long the next call of an HTTP/2 connection that has lasted long enough is awaited, and how long its client may leave a GOAWAY unread. */
export const retiringTime = 1_000;
/** Silence on an HTTP/1.1 connection while a call runs or its answer is sent; above `callTimeout` on purpose. */
export const inactivityTimeout = 120_000;
/** Silence on an HTTP/2 connection after which its client is asked to go, and again until it is destroyed. */
export const silentSessionTimeout = 300_000;
/** Silence on an HTTP/2 connection whose client said that it is leaving, after which it is destroyed: longer than any call takes. */
export const leavingTimeout = 65_000;
/** How long such a client may take to answer a PING. */
export const pingTimeout = 5_000;
/** TCP keep-alive probes start after this; they end connections whose other end vanished. */
export const probeDelay = 60_000;

/** How long stopping waits for running calls before it cuts connections (protocol §9). */
export const stopGrace = 30_000;
/** How long connections without a call are kept then, for requests that are on their way. */
export const stopLinger = 1_000;
/** After an answer to what could not be read: how long the rest of it is swallowed so that the answer can be read. */
export const lingerTimeout = 2_000;

/**
 * Requests that an HTTP/1.1 connection may send ahead of their answers. One that sends more is closed: a client that does so
 * repeats what was not answered (RFC 9112 §9.3.2), and has to be ready for it.
 */
export const pipelinedRequests = 32;
/** Pieces of a body beyond the first hold so many bytes on average: node hands on each chunk, or DATA frame, by itself. */
export const freeBodyPieces = 256;
export const leastPieceBytes = 16;

/** Rest of a request body that is swallowed after an early answer, so that the client gets to read that answer. */
export const maxDrainBytes: number = 64 * 1024 * 1024;
export const drainTimeout = 10_000;
/** Bytes of it that are taken in one turn of the event loop. */
export const swallowedAtATime: number = 64 * 1024;
/** A declared HTTP/1.1 body up to this size does not cost the connection when it is answered unread. */
export const keptRemainder: number = 64 * 1024;

/** Calls at the same time on one HTTP/2 connection. */
export const maxConcurrentStreams = 128;
/** Memory of one HTTP/2 connection, in megabytes (queued output, header tables, streams). */
export const maxSessionMegabytes = 32;
/** Receive window of an HTTP/2 stream, in bytes. */
export const streamWindow: number = 256 * 1024;
/**
 * Streams that a client may reset at once, and per second, whatever became of them: more than one ever does whose calls
 * run into their deadlines. What counts before that is below (`resetsEarned`).
 */
export const streamResetBurst = 10_000;
export const streamResetRate = 5_000;
/** Invalid frames after which an HTTP/2 connection is ended. */
export const maxInvalidFrames = 100;
/** The same for streams in a row beyond those at the same time: calls that were given up while they waited here come with their resets. */
export const maxRejectedStreams = 10_000;

/*
 * What callers share (`capacity.ts`). The first number is for all of them; what is fair for one is made of it. Twice as
 * much may be taken in all when callers that have little come after those that took everything.
 */

/** Bodies that are awaited or in work, in bytes: twelve of the largest by default, or 8,000 requests of which only the headers came. */
export const leastBodyBytes: number = 128 * 1024 * 1024;
/** Where larger bodies are allowed, there is room for so many of the largest. */
export const largestBodies = 4;
/** What a request costs whose body is awaited, beside its bytes: its stream, its headers, its timers. */
export const awaitedRequestBytes: number = 16 * 1024;
/** What each piece of a body costs beside its bytes, so that bodies in pieces of one byte are counted for what they take. */
export const bodyPieceBytes = 128;
/** A body up to this size is decoded at once, and costs nothing more once it is there: its call counts from then on. Larger ones are decoded one at a time. */
export const smallBodyBytes: number = 64 * 1024;

/** Messages that are decompressed at the same time, in turns between callers: each keeps one of the process's four threads busy, which files need, too. */
export const inflationsAtATime = 2;

/** Connections, and those of one address, behind which may be many callers: an idle one of HTTP/2 takes some 35 KB. */
export const connections = 20_000;
export const addressConnections = 2_000;

/** Those of the admin port, and of one address: apart from the others, so that callers never keep a probe out. */
export const adminConnections = 1_000;
export const addressAdminConnections = 250;

/** Open HTTP/2 streams: as many as calls may be in work. Each takes some 10 KB, also when its answer waits for a client that does not read. */
export const freeStreams = 8;
/** Of each connection the first `freeStreams` are not counted, and all further ones by so many at a time. */
export const streamStep = 16;

/** Streams without credentials, in units of a watch (30 KB); a reflection stream may hold an answer of 190 KB that nobody reads. */
export const openStreamUnits = 1_024;
export const watchUnits = 1;
export const reflectionUnits = 4;
/** Of one address and of one connection: a client has one watch for each connection, and asks for descriptions on one stream. */
export const addressStreamUnits = 256;
export const connectionStreamUnits = 16;
/** Time between two answers of reflection, for all streams together, in milliseconds: 100 a second, of up to 190 KB each. */
export const reflectionAnswerInterval = 10;
/** How long the client of such a stream may leave what it was sent unread. */
export const unreadTimeout = 10_000;

/** Reads of the store for root keys that are not known here: less than half of a MongoDB driver's 100 connections. */
export const rootKeyReads = 32;
/** People for whom the identity provider is asked at the same time. */
export const identityChecks = 32;
/** How long the read for a root key that does not exist keeps its place: 128 a second, and up to twice as many from several addresses, where others are free at once. */
export const unknownRootKeyRest = 250;
/** How long a look-up that finds no such place waits for its refusal, and up to twice as long: who waits for each answer before asking again gets no more than four in a second. */
export const refusedRootKeyRest = 250;

/** The interval of the rates below, in milliseconds. */
export const rateInterval = 1_000;
/** Headers up to this size, names and values after decompression, are ordinary and not counted: most requests have 300 bytes. */
export const ordinaryHeaderBytes = 2_048;
/** Bytes of headers beyond that in one interval: 150 of the largest header lists. */
export const excessHeaderBytes: number = 2 * 1024 * 1024;
/** Streams that clients take back in one interval, or that are refused them, beyond those that are answered: twice all of one connection. */
export const streamResets = 512;
/** So many answers at most are remembered of a connection; each pays for a stream that is taken back later. */
export const resetsEarned = 1_000;
/** What an HTTP/1.1 connection costs that is closed because it sent too many requests or pieces at once, in such streams: eight in one interval are borne. */
export const offenceCost = 64;
/** A connection that took back no more than so many beyond that is not ended for what others of its address did. */
export const toleratedResets = 16;
/** Who takes back a stream that was under way for so long has waited for us, and it does not count. */
export const excusedResetAge = 100;
/** How long the streams of a connection that is ended for its resets may go on. */
export const sessionCloseGrace = 2_000;
/** How long no HTTP/2 connection begins from an address of which one was ended for what it cost. */
export const barTime = 5_000;
/** How long such a connection is left unheard before it is closed. */
export const barDelay = 500;
/** HTTP/2 streams, and HTTP/1.1 requests that came ahead of an answer, that are looked at in one turn of the event loop; more of them wait for the next, connections in turns. */
export const begunInATurn: number = 64;

/** Bytes of bodies that are swallowed, because they were answered unread, in one interval: six of the largest. */
export const swallowedBytes: number = 64 * 1024 * 1024;
/** What a piece of such a body counts for at least: 4,096 pieces in one interval. */
export const swallowedPieceBytes: number = 16 * 1024;
