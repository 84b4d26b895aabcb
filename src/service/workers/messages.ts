import type { ProfileKind } from "../../operations/admin/recordProfile.ts";
import type { Urls } from "../createService.ts";

/** What a worker says once it serves. */
export interface WorkerStart {
  readonly urls: Omit<Urls, "adminUrl">;
  /** Lines for the greeting. */
  readonly nextSteps: readonly string[];
}

/** From the primary to a worker. */
export type ToWorker =
  | { readonly type: "stop"; readonly reason: string }
  | { readonly type: "reload" }
  /** For a sign of life. */
  | { readonly type: "ping" }
  /** Its metrics are asked for. */
  | { readonly type: "page" }
  /** A profile is to be recorded. @param recording tells one from the others. */
  | { readonly type: "record"; readonly recording: number; readonly kind: ProfileKind; readonly seconds: number }
  /** Nobody wants that profile any more. */
  | { readonly type: "dropRecording"; readonly recording: number }
  /** A sibling has written these. */
  | { readonly type: "told"; readonly ids: readonly string[] };

/** From a worker to the primary. */
export type ToPrimary =
  /** It can be told something from now on. */
  | { readonly type: "joined" }
  | { readonly type: "started"; readonly start: WorkerStart }
  | { readonly type: "pong" }
  /** A line for the user: why it ends. */
  | { readonly type: "complaint"; readonly line: string }
  | { readonly type: "page"; readonly text: string }
  /** Without the profile if it could not be recorded. */
  | { readonly type: "recorded"; readonly recording: number; readonly profile: string | undefined }
  /** It has written these. */
  | { readonly type: "told"; readonly ids: readonly string[] };
