// mingo's own declarations do not compile under `exactOptionalPropertyTypes`; these are the parts that the oracle uses.

declare module "mingo" {
  export class Query {
    constructor(condition: Record<string, unknown>);
    test(document: Record<string, unknown>): boolean;
  }
}

declare module "mingo/updater" {
  export type Modifier<T> = { readonly [operator: `$${string}`]: Partial<T> };
  export const updateOne: <T extends object>(
    documents: T[],
    condition: object,
    modifier: Modifier<T>,
  ) => { readonly matchedCount: number; readonly modifiedCount: number };
}
