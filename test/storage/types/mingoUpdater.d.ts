export type Modifier<T> = { readonly [operator: `$${string}`]: Partial<T> };

export declare const updateOne: <T extends object>(
  documents: T[],
  condition: object,
  modifier: Modifier<T>,
  options: { readonly cloneMode: "deep" },
) => { readonly modifiedCount: number };
