/** What one verification leaves behind (analytics §4). Made on the way of every verification: plain values only. */
export interface VerificationEvent {
  readonly requestId: string;
  /** Unix ms, when the verification was decided. */
  readonly time: number;
  readonly apiId: string;
  readonly keyId: string;
  /** `""` without an identity. */
  readonly identityId: string;
  readonly externalId: string;
  /** The `code` of the answer. */
  readonly outcome: string;
  readonly tags: readonly string[];
  readonly spentCredits: number;
  /** Milliseconds. */
  readonly latency: number;
}

/** What one check of a limit leaves behind (analytics §5). */
export interface RatelimitEvent {
  readonly requestId: string;
  /** Unix ms. */
  readonly time: number;
  readonly namespaceId: string;
  readonly identifier: string;
  readonly passed: boolean;
  /** Milliseconds; in a batch the check's share. */
  readonly latency: number;
  /** `""` without an override. */
  readonly overrideId: string;
  readonly limit: number;
  readonly remaining: number;
  /** Unix ms. */
  readonly resetAt: number;
  /** The cost that was asked for. */
  readonly tokens: number;
}
