// @same-on-every-engine
import { hasOption } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { permission } from "../../../gen/latchkey/v2/options_pb.ts";
import { procedureName } from "../../../src/platform/rpc/procedureName.ts";
import { createProcedures, type ProcedureDeps } from "../../../src/service/procedures.ts";
import { services } from "../../../src/service/services.ts";
import { validBodies } from "../../support/bodies.ts";
import { procedureNames } from "../../support/edges.ts";
import { walk } from "./walkRun.ts";

describe("the lists", () => {
  test("every procedure is implemented", () => {
    // No dependency is touched before a call.
    const table = createProcedures({} as ProcedureDeps);
    expect(procedureNames).toEqual(
      [...table.keys()].map(procedureName).sort((a, b) => procedureNames.indexOf(a) - procedureNames.indexOf(b)),
    );
  });

  test("every procedure is unary and has a permission", () => {
    const methods = services.flatMap((service) => service.methods);
    expect(methods.filter((method) => method.methodKind !== "unary" || !hasOption(method, permission))).toEqual([]);
  });

  test("every procedure has a valid request to be tested with", () => {
    expect(Object.keys(validBodies).sort()).toEqual([...procedureNames].sort());
  });
});

// Those of analytics need its engine: walk.process.test.ts.
walk(procedureNames.filter((name) => !name.startsWith("analytics.")));
