import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { SessionSchema } from "../../gen/latchkey/console/v1/console_pb.ts";
import { ApisService } from "../../gen/latchkey/v2/apis_pb.ts";
import { session } from "../../ui/src/data/access/sessionState.ts";
import { callLog, logCall } from "../../ui/src/data/calls/callLog.ts";
import { retryDelay } from "../../ui/src/data/calls/retryDelay.ts";

const { createApi } = ApisService.method;

const made = (): void => logCall({ method: createApi, request: create(createApi.input, { name: "payments" }), at: 0, succeeded: true });

test("[console §3] failed calls are retried with growing pauses, never before the service wants it", () => {
  expect([1, 2, 3, 4, 5, 60].map((failures) => retryDelay(failures, 1))).toEqual([1, 2, 4, 8, 10, 10]);
  expect([1, 6].map((failures) => retryDelay(failures, 30))).toEqual([30, 30]);
});

test("[console §2.9] the calls of a session are forgotten at its end, and when another one took its place", () => {
  session.value = create(SessionSchema, { expiresAt: 10n, idleExpiresAt: 1n });
  made();
  session.value = create(SessionSchema, { expiresAt: 10n, idleExpiresAt: 2n });
  expect(callLog.value).toHaveLength(1);
  session.value = create(SessionSchema, { expiresAt: 20n, idleExpiresAt: 2n });
  expect(callLog.value).toEqual([]);
  made();
  session.value = "signedOut";
  expect(callLog.value).toEqual([]);
});
