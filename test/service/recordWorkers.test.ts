import { expect, test } from "vitest";
import type { ToWorker } from "../../src/service/workers/messages.ts";
import { createWorkerRecorder } from "../../src/service/workers/recordWorkers.ts";

const never = new AbortController().signal;

test("a profile comes from the requested worker; one that ends, fails or does not serve is an error, and an unwanted profile is dropped", async () => {
  const sent: (readonly [number, ToWorker])[] = [];
  const recorder = createWorkerRecorder((worker, message) => {
    if (worker > 2) return false;
    sent.push([worker, message]);
    return true;
  });
  const leaving = new AbortController();
  const profiles = [
    recorder.record("cpu", 1, never, 2),
    recorder.record("heap", 2, never, 1),
    recorder.record("cpu", 3, never, 2),
    recorder.record("cpu", 4, leaving.signal, 1),
    recorder.record("cpu", 5, never, 3),
  ];
  recorder.take({ type: "recorded", recording: 1, profile: "{}" });
  recorder.take({ type: "recorded", recording: 2, profile: undefined });
  recorder.retire(2);
  leaving.abort(new Error("the client left"));
  // Too late.
  recorder.take({ type: "recorded", recording: 3, profile: "{}" });
  expect(await Promise.allSettled(profiles)).toEqual([
    { status: "fulfilled", value: "{}" },
    ...["the worker could not record it", "worker 2 has ended", "the client left", "worker 3 does not serve"].map((message) => {
      return { status: "rejected", reason: expect.objectContaining({ message }) };
    }),
  ]);
  expect(sent.at(0)).toEqual([2, { type: "record", recording: 1, kind: "cpu", seconds: 1 }]);
  expect(sent.at(-1)).toEqual([1, { type: "dropRecording", recording: 4 }]);
});
