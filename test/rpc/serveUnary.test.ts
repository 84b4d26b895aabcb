import type { IncomingHttpHeaders } from "node:http";
import { create, type DescMethod } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { KeysService } from "../../gen/latchkey/v2/keys_pb.ts";
import { type Caller, unrestrictedGrants } from "../../src/platform/authorization/authorization.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { type Reason, ServiceError, type Violation } from "../../src/platform/base/errors.ts";
import type { BodyReader } from "../../src/platform/http/readBody.ts";
import type { OtherEnd } from "../../src/platform/rpc/callSignal.ts";
import { EdgeCall } from "../../src/platform/rpc/edges/edgeCall.ts";
import { serveUnary, type UnaryParts } from "../../src/platform/rpc/edges/serveUnary.ts";
import type { Pipeline } from "../../src/platform/rpc/incomingCall.ts";
import type { EdgeName } from "../../src/platform/telemetry/callMetrics.ts";

const method = KeysService.method.verifyKey;
const caller: Caller = { rootKeyId: "rk_1", name: undefined, expires: undefined, grants: unrestrictedGrants };

/** A call without a connection. */
class PlainCall extends EdgeCall {
  readonly requestHeaders: IncomingHttpHeaders = {};
  protected readonly rawHeaders: readonly string[] = [];
  protected readonly remoteAddress = undefined;
  protected readonly session = undefined;
  protected readonly otherEnd: OtherEnd = { isGone: () => this.isGone, watch: () => () => undefined };
  isGone = false;
  destroyed = false;
  readonly #steps: string[];

  constructor(steps: string[], timeout?: number | Violation) {
    super("v2", method, systemClock, timeout);
    this.#steps = steps;
  }

  readBody(limit: number, overhead: number, done: BodyReader): void {
    this.#steps.push(`body of ${limit} bytes and ${overhead}`);
    done(Buffer.from("body"));
  }

  destroy(): void {
    this.destroyed = true;
  }
}

type Parts = UnaryParts<PlainCall, string, string>;

/** One call by way of an edge that notes each step, with what else the test says. */
const serve = (parts: Partial<Parts> = {}, timeout?: number | Violation) => {
  const steps: string[] = [];
  const refused: Reason[] = [];
  const faults: unknown[] = [];
  const pipeline: Pipeline = {
    authenticate: (call, findCaller) => findCaller(call),
    pathOf: () => [],
    holdBody: () => undefined,
    invoke: (_call, { rootKeyId }, _message, violations) => {
      steps.push(`invoke for ${rootKeyId}${violations.map(({ location }) => `, ${location}`).join("")}`);
      return {};
    },
  };
  const observer = {
    refused: (_edge: EdgeName, _method: DescMethod | undefined, reason: Reason) => void refused.push(reason),
    fault: (_requestId: string, error: unknown) => void faults.push(error),
  };
  const call = new PlainCall(steps, timeout);
  serveUnary<PlainCall, string, string>(
    { pipeline, observer, maxBodyBytes: 10 },
    {
      findCaller: () => {
        steps.push("caller");
        return caller;
      },
      checkHead: () => void steps.push("head"),
      overhead: 5,
      decode: (_call, route, body) => {
        steps.push(`decode ${body.toString()} of ${route}`);
        return { message: create(method.input), violations: [{ location: "body.key", message: "is missing" }] };
      },
      encode: () => "answer",
      answer: (_call, _route, encoded) => void steps.push(encoded),
      answerFailure: (_call, _route, error) => void steps.push(error.reason),
      ...parts,
    },
  )(call, "route");
  return { call, steps, refused, faults };
};

const failing = (reason: Reason) => (): never => {
  throw new ServiceError(reason, "No.");
};

describe("the steps of a call", () => {
  test("[protocol §2] have one order, and are taken in one turn where nothing is waited for", () => {
    const { steps, refused } = serve();
    expect(steps).toEqual(["caller", "head", "body of 10 bytes and 5", "decode body of route", "invoke for rk_1, body.key", "answer"]);
    expect(refused).toEqual([]);
  });

  test("the edge identifies the caller, even when it has to look it up", async () => {
    const other = { ...caller, rootKeyId: "rk_2" };
    const { steps } = serve({ findCaller: () => Promise.resolve(other) });
    expect(steps).toEqual([]);
    await Promise.resolve();
    expect(steps).toContain("invoke for rk_2, body.key");
  });

  test("a problem with the headers is reported before one with the message", () => {
    const { steps } = serve({}, { location: "header.grpc-timeout", message: "not a duration of this protocol" });
    expect(steps).toContain("invoke for rk_1, header.grpc-timeout, body.key");
  });

  test("a call that never reaches its procedure is counted by the edge, except when its caller is refused", () => {
    expect(serve({ checkHead: failing("not_implemented") })).toMatchObject({
      steps: ["caller", "not_implemented"],
      refused: ["not_implemented"],
    });
    expect(serve({ decode: failing("service_unavailable") })).toMatchObject({ refused: ["service_unavailable"] });
    expect(serve({ findCaller: failing("authentication_missing") })).toMatchObject({ steps: ["authentication_missing"], refused: [] });
  });

  test("[grpc §3] a call whose deadline has passed does not begin, and is counted", () => {
    const { steps, refused } = serve({}, 0);
    expect(steps.slice(-2)).toEqual(["decode body of route", "request_timeout"]);
    expect(refused).toEqual(["request_timeout"]);
  });

  test("an answer that cannot be written becomes a failure, and a failure that cannot be written ends the request", async () => {
    const fault = new TypeError("no int64");
    const unwritable = serve({ encode: () => Promise.reject(fault) });
    await new Promise(setImmediate);
    expect(unwritable).toMatchObject({ faults: [fault], call: { destroyed: false } });
    expect(unwritable.steps.at(-1)).toBe("unexpected_error");
    const throwing = (): never => {
      throw fault;
    };
    const { call, faults } = serve({ findCaller: failing("authentication_missing"), answerFailure: throwing });
    expect([call.destroyed, faults]).toEqual([true, [fault]]);
  });

  test("nothing is written to a client that is gone, success or failure", () => {
    const leave = (call: PlainCall): Caller => {
      call.isGone = true;
      return caller;
    };
    expect(serve({ findCaller: leave }).steps.at(-1)).toBe("invoke for rk_1, body.key");
    expect(serve({ findCaller: leave, decode: failing("service_unavailable") }).steps).not.toContain("service_unavailable");
  });
});
