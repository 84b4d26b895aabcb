/** What a call gives to a root key beside permissions of its own list. */
export interface HandOut {
  /** Every permission, also those of later versions. */
  readonly everything?: true;
  /** When the root key expires, Unix ms; null = never. */
  readonly expires?: number | null;
}
