import type { Edge } from "../../bench/harness/v2Edge.ts";

/**
 * How much of a matrix, a campaign or a random search is run: what shows a defect of every kind in seconds with
 * `npm test`, all of it with `npm run test:deep`. The cases and what they assert are the same.
 */
export const sized = <T>(usual: T, deep: T): T => (process.env.LATCHKEY_TEST_SIZE === "deep" ? deep : usual);

/** Those of a service's edges that a matrix of all procedures is run over: JSON and gRPC, whatever `LATCHKEY_TEST_EDGES` names, or all. */
export const sizedEdges = (edges: readonly Edge[]): readonly Edge[] =>
  sized(
    edges.filter(({ name }) => name === "v2" || name === "grpc"),
    edges,
  );
