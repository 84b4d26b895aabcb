import type { IncomingMessage, ServerResponse } from "node:http";
import { type ProfileKind, profileKinds } from "./recordProfile.ts";

/** Of a recording. */
const DEFAULT_SECONDS = 10;
const MOST_SECONDS = 60;
/** A larger profile is thrown away, in bytes: it would say nothing that a shorter one does not. */
const MOST_BYTES = 32 * 1024 * 1024;
/** How long a client may take no byte of a profile, in milliseconds. */
const UNREAD_TIMEOUT = 30_000;

const endings: Readonly<Record<ProfileKind, string>> = { cpu: "cpuprofile", heap: "heapprofile" };

/** A profile that was handed out. */
export interface TakenProfile {
  readonly kind: ProfileKind;
  /** Undefined for a service of one process. */
  readonly worker: number | undefined;
  readonly seconds: number;
  readonly bytes: number;
  readonly address: string | undefined;
}

export interface ProfileAnswersOptions {
  /** As `recordProfile`, which is loaded by the first who asks. @param worker undefined for a service of one process. */
  readonly record: (kind: ProfileKind, seconds: number, signal: AbortSignal, worker: number | undefined) => Promise<string>;
  /** How many there are to choose from, as `worker`, from 1; left out for a service of one process. */
  readonly workers?: number | undefined;
  readonly onTaken: (profile: TakenProfile) => void;
  /** Answers with a line of text. */
  readonly say: (response: ServerResponse, status: number, text: string) => void;
  /** Of a profile, in bytes; 32 MiB unless told. */
  readonly mostBytes?: number;
}

/** Answers a request for a profile; false when its address is none of these. */
export type ProfileAnswers = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Undefined for what is no whole number from 1 to `most`. */
const wholeOf = (query: URLSearchParams, name: string, byDefault: number, most: number): number | undefined => {
  const given = query.getAll(name);
  const [text = String(byDefault)] = given;
  const value = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return given.length <= 1 && value >= 1 && value <= most ? value : undefined;
};

/**
 * `POST /profiles/cpu?seconds=…` and `POST /profiles/heap?seconds=…`: records for 1 to 60 seconds (10 unless told), and answers
 * with the file. Of several workers the first is recorded unless told (`worker=…`). One at a time, until it has been sent (409);
 * a client that leaves ends it. There is no heap snapshot: it holds
 * every string in memory, secrets among them, stops the process while it is made, and is as large as the heap.
 */
export const createProfileAnswers = ({ record, workers, onTaken, say, mostBytes = MOST_BYTES }: ProfileAnswersOptions): ProfileAnswers => {
  let isRecording = false;

  const send = async (asked: Omit<TakenProfile, "bytes">, response: ServerResponse): Promise<void> => {
    const { kind, worker, seconds } = asked;
    const left = new AbortController();
    response.once("close", () => {
      isRecording = false;
      left.abort();
    });
    isRecording = true;
    try {
      const profile = Buffer.from(await record(kind, seconds, left.signal, worker));
      if (left.signal.aborted) return;
      if (profile.length > mostBytes) return say(response, 500, `the profile is larger than ${mostBytes} bytes: record fewer seconds`);
      onTaken({ ...asked, bytes: profile.length });
      response.setTimeout(UNREAD_TIMEOUT, () => response.destroy());
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": profile.length,
        "content-disposition": `attachment; filename="latchkey${worker === undefined ? "" : `-worker-${worker}`}.${endings[kind]}"`,
        "cache-control": "no-store",
      });
      response.end(profile);
    } catch {
      if (!left.signal.aborted) say(response, 500, "the profile could not be recorded");
    }
  };

  return (request, response) => {
    const [path = "", text = ""] = (request.url ?? "").split("?", 2);
    const kind = profileKinds.find((name) => path === `/profiles/${name}`);
    if (kind === undefined) return false;
    const query = new URLSearchParams(text);
    const seconds = wholeOf(query, "seconds", DEFAULT_SECONDS, MOST_SECONDS);
    const worker = workers && wholeOf(query, "worker", 1, workers);
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      say(response, 405, "only POST");
    } else if (request.headers.origin !== undefined) say(response, 403, "profiles are not for the pages of a browser");
    else if (seconds === undefined) say(response, 400, `seconds: want a whole number from 1 to ${MOST_SECONDS}`);
    else if (workers && worker === undefined) say(response, 400, `worker: want a whole number from 1 to ${workers}`);
    else if (isRecording) say(response, 409, "a profile is being recorded: one at a time");
    else void send({ kind, worker, seconds, address: request.socket.remoteAddress }, response);
    return true;
  };
};
