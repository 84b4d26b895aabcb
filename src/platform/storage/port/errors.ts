/** A unique index refused a write. `index` is the name of its declaration, or `_id`. Nothing was written. */
export class DuplicateKeyError extends Error {
  readonly index: string;
  constructor(index: string, options?: ErrorOptions) {
    super(`duplicate key in index ${index}`, options);
    this.name = "DuplicateKeyError";
    this.index = index;
  }
}

/**
 * The store cannot be reached, or did not answer in time. `outcomeUnknown`: a write may still have happened. `tooSlow`: it
 * was there, but the operation took longer than it may.
 */
export class StoreUnavailableError extends Error {
  readonly outcomeUnknown: boolean;
  readonly tooSlow: boolean;
  constructor(message: string, options?: ErrorOptions & { outcomeUnknown?: boolean; tooSlow?: boolean }) {
    super(message, options);
    this.name = "StoreUnavailableError";
    this.outcomeUnknown = options?.outcomeUnknown ?? false;
    this.tooSlow = options?.tooSlow ?? false;
  }
}

/**
 * A file of the store holds something else than was written to it. Asking again does not help, but it concerns what that part
 * of the file held, and says nothing about the rest: nothing that is done while a store is away begins.
 */
export class StoreDamagedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreDamagedError";
  }
}

/**
 * A document was written by a newer version, and may mean something that this one would misread. Asking again does not help, but it
 * concerns this document alone: nothing that is done while a store is away begins.
 */
export class DocumentTooNewError extends Error {
  /** @param found `v` of the document. @param known the newest that this version reads. */
  constructor(collection: string, id: string, found: number, known: number) {
    super(
      `${id} in ${collection} was written by a newer version of Latchkey: its schema is ${found}, this version reads up to ${known}; ` +
        "replace this node with the newer version",
    );
    this.name = "DocumentTooNewError";
  }
}

/**
 * This node asks more of the store than it may at once; nothing was sent. That says nothing about the store, so nothing
 * that is done while one is away begins.
 */
export class StoreOverloadedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreOverloadedError";
  }
}
