import type { DescMethodUnary } from "@bufbuild/protobuf";

/** One text for each question: equal requests have equal texts, 64-bit numbers included. */
export const requestKey = (method: DescMethodUnary, request: unknown): string =>
  `${method.parent.typeName}/${method.name} ${JSON.stringify(request, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value))}`;
