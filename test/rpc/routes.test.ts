import { describe, expect, test } from "vitest";
import { ConsoleService } from "../../gen/latchkey/console/v1/console_pb.ts";
import { compileRoutes } from "../../src/rpc/edges/v2/routes.ts";
import { createSlices } from "../../src/rpc/pipeline/slices.ts";
import { compileRpcRoutes } from "../../src/rpc/wire/rpcRoutes.ts";
import { testableServices } from "../../src/service/services.ts";

/** A start compiles none of them: what a .proto file says without effect is noticed here. */
describe("the codec knows all that the descriptors of a procedure say", () => {
  const slices = createSlices();

  test.each([...compileRpcRoutes([...testableServices, ConsoleService], slices)])("%s", (_path, { binary, json }) => {
    for (const { read, write } of [binary, json]) expect([read, write]).toEqual([expect.any(Function), expect.any(Function)]);
  });

  test.each([...compileRoutes(testableServices, slices)])("%s", (_path, { read, write }) => {
    expect([read, write]).toEqual([expect.any(Function), expect.any(Function)]);
  });
});
