/** What is stored of the console: its sessions, and who failed to open one. */

import type { Person } from "../../base/person.ts";
import type { AuditedDocument } from "./baseDocument.ts";

/** A session of the console (console §2). Its token is in the cookie of the browser, and nowhere else. */
export interface SessionDocument extends AuditedDocument {
  /** Base64 SHA-256 of its token; absent once it has ended. Elevating replaces it. */
  readonly hash?: string;
  /** What it was opened with; of a person's the `personId`. */
  readonly rootKeyId: string;
  /** Whose it is, if it was opened by OpenID Connect. */
  readonly person?: Person;
  /** `sessionsEnded` of the root key when it was opened: another number there means that it has ended. 0 of a person's. */
  readonly opening: number;
  /** Where it was opened from; absent where a proxy did not say. */
  readonly address?: string;
  readonly userAgent?: string;
  readonly lastUsedAt: number;
  readonly expiresAt: number;
  readonly elevatedUntil?: number;
  /** When its row may go, whatever became of it. */
  readonly expireAt: Date;
}

/** Failed sign-ins from one address. `_id` is the name under which that is counted (`networkOf`). */
export interface FailedSignInsDocument extends AuditedDocument {
  /** Their times, Unix ms, ascending: as many of the latest as decide about the next. */
  readonly failures: readonly number[];
  /** When the audit log was told of one last, Unix ms. */
  readonly toldAt: number;
  readonly revision: number;
  readonly expireAt: Date;
}
