/** A JSON Schema (2020-12), the schema object of OpenAPI 3.1. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** What the document calls a schema of its own. */
export const refTo = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
