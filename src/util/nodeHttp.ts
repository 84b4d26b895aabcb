/** node:http. Imported as an ES module it would bring Node's `fetch` with it, which costs a start as much again as Node itself. */
export const nodeHttp: typeof import("node:http") = process.getBuiltinModule("node:http");
