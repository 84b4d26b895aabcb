import type { DescMethod, DescMethodUnary, DescService } from "@bufbuild/protobuf";

const isUnary = (method: DescMethod): method is DescMethodUnary => method.methodKind === "unary";

/** The procedures of services: every method of theirs that takes one message and answers one. */
export const unaryMethods = (services: readonly DescService[]): DescMethodUnary[] =>
  services.flatMap(({ methods }) => methods).filter(isUnary);
