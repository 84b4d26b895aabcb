import type { SetTimeRequestSchema, SetTimeResponseSchema } from "../../../gen/latchkey/v2/testing_pb.ts";
import type { SettableClock } from "../../platform/base/clock.ts";
import type { Procedure } from "../calls/call.ts";

/** Turns the service's clock, for the test suites of its clients; only registered with `serve --test-clock`. */
export const setTime =
  ({ clock }: { readonly clock: SettableClock }): Procedure<typeof SetTimeRequestSchema, typeof SetTimeResponseSchema> =>
  ({ time }) => {
    clock.setTime(Number(time));
    return { data: {} };
  };
