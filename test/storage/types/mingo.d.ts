// mingo's own declarations do not compile under `exactOptionalPropertyTypes`; these are the parts that the oracle uses.

interface Cursor<T> {
  sort(order: Record<string, 1 | -1>): Cursor<T>;
  limit(count: number): Cursor<T>;
  all(): T[];
}

export declare class Query {
  constructor(condition: object);
  find<T>(documents: readonly object[]): Cursor<T>;
}
