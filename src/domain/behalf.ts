/** For whom something is done. */
export interface Behalf {
  /** What the store is asked for waits in the line of its caller; without one, as of what runs in the background, in a line of its own. */
  readonly caller?: { readonly rootKeyId: string } | undefined;
}
