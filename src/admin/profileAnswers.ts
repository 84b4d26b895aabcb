import type { IncomingMessage, ServerResponse } from "node:http";
import { type ProfileKind, profileKinds } from "./recordProfile.ts";

/** Of a recording. */
const DEFAULT_SECONDS = 10;
const MOST_SECONDS = 60;
/** A larger profile is thrown away, in bytes: it would say nothing that a shorter one does not. */
const MOST_BYTES = 32 * 1024 * 1024;
/** How long a client may take no byte of a profile, in milliseconds. */
const UNREAD_TIMEOUT = 30_000;

const files: Readonly<Record<ProfileKind, string>> = { cpu: "latchkey.cpuprofile", heap: "latchkey.heapprofile" };

/** A profile that was handed out. */
export interface TakenProfile {
  readonly kind: ProfileKind;
  readonly seconds: number;
  readonly bytes: number;
  readonly address: string | undefined;
}

export interface ProfileAnswersOptions {
  /** As `recordProfile`, which is loaded by the first who asks. */
  readonly record: (kind: ProfileKind, seconds: number, signal: AbortSignal) => Promise<string>;
  readonly onTaken: (profile: TakenProfile) => void;
  /** Answers with a line of text. */
  readonly say: (response: ServerResponse, status: number, text: string) => void;
  /** Of a profile, in bytes; 32 MiB unless told. */
  readonly mostBytes?: number;
}

/** Answers a request for a profile; false when its address is none of these. */
export type ProfileAnswers = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Undefined for what is no whole number of seconds within the bounds. */
const secondsOf = (query: string): number | undefined => {
  const given = new URLSearchParams(query).getAll("seconds");
  const [text = String(DEFAULT_SECONDS)] = given;
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return given.length <= 1 && seconds >= 1 && seconds <= MOST_SECONDS ? seconds : undefined;
};

/**
 * `POST /profiles/cpu?seconds=…` and `POST /profiles/heap?seconds=…`: records for 1 to 60 seconds (10 unless told), and answers
 * with the file. One at a time, until it has been sent (409); a client that leaves ends it. There is no heap snapshot: it holds
 * every string in memory, secrets among them, stops the process while it is made, and is as large as the heap.
 */
export const createProfileAnswers = ({ record, onTaken, say, mostBytes = MOST_BYTES }: ProfileAnswersOptions): ProfileAnswers => {
  let isRecording = false;

  const send = async (kind: ProfileKind, seconds: number, address: string | undefined, response: ServerResponse): Promise<void> => {
    const left = new AbortController();
    response.once("close", () => {
      isRecording = false;
      left.abort();
    });
    isRecording = true;
    try {
      const profile = Buffer.from(await record(kind, seconds, left.signal));
      if (left.signal.aborted) return;
      if (profile.length > mostBytes) return say(response, 500, `the profile is larger than ${mostBytes} bytes: record fewer seconds`);
      onTaken({ kind, seconds, bytes: profile.length, address });
      response.setTimeout(UNREAD_TIMEOUT, () => response.destroy());
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": profile.length,
        "content-disposition": `attachment; filename="${files[kind]}"`,
        "cache-control": "no-store",
      });
      response.end(profile);
    } catch {
      if (!left.signal.aborted) say(response, 500, "the profile could not be recorded");
    }
  };

  return (request, response) => {
    const [path = "", query = ""] = (request.url ?? "").split("?", 2);
    const kind = profileKinds.find((name) => path === `/profiles/${name}`);
    if (kind === undefined) return false;
    const seconds = secondsOf(query);
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      say(response, 405, "only POST");
    } else if (request.headers.origin !== undefined) say(response, 403, "profiles are not for the pages of a browser");
    else if (seconds === undefined) say(response, 400, `seconds: want a whole number from 1 to ${MOST_SECONDS}`);
    else if (isRecording) say(response, 409, "a profile is being recorded: one at a time");
    else void send(kind, seconds, request.socket.remoteAddress, response);
    return true;
  };
};
