import { expect, test } from "vitest";
import { type BackgroundPart, createBackgroundWork } from "../../src/service/backgroundWork.ts";

const never = new AbortController().signal;

/** Parts that record their calls, with the behaviour that a test adds. */
const bench = (parts: Readonly<Record<string, Partial<Omit<BackgroundPart, "name">>>>, stopWithin = 60_000) => {
  const told: string[] = [];
  const late: (readonly [string, number])[] = [];
  const work = createBackgroundWork(
    Object.entries(parts).map(([name, part]) => ({
      name: name as BackgroundPart["name"],
      start: async () => {
        told.push(`start ${name}`);
        await part.start?.();
      },
      stop: async (signal) => {
        told.push(`stop ${name}`);
        await part.stop?.(signal);
      },
    })),
    { onLate: (name, milliseconds) => late.push([name, milliseconds]), stopWithin },
  );
  return { work, told, late };
};

test("parts start in their order, each when the one before has started, and stop in reverse", async () => {
  const gate = Promise.withResolvers<void>();
  const { work, told } = bench({ a: {}, b: { start: () => gate.promise }, c: {} });
  const started = work.start(never);
  await expect.poll(() => told).toEqual(["start a", "start b"]);
  gate.resolve();
  await started;
  await work.stop();
  expect(told).toEqual(["start a", "start b", "start c", "stop c", "stop b", "stop a"]);
});

test("a part that never started is not stopped, and none is stopped twice", async () => {
  const { work, told } = bench({ a: {}, b: {} });
  await work.stop();
  expect(told).toEqual([]);
  await work.start(never);
  await work.stop();
  await work.stop();
  expect(told).toEqual(["start a", "start b", "stop b", "stop a"]);
});

test("a part that cannot start stops those that had started, and its error is reported", async () => {
  const { work, told } = bench({ a: {}, b: {}, c: { start: () => Promise.reject(new Error("c is broken")) }, d: {} });
  await expect(work.start(never)).rejects.toThrow("c is broken");
  expect(told).toEqual(["start a", "start b", "start c", "stop b", "stop a"]);
  await work.stop();
  expect(told).toHaveLength(5);
});

test("the error of the start comes first where what had started cannot be stopped either", async () => {
  const [first, second] = [new Error("start"), new Error("stop")];
  const { work } = bench({ a: { stop: () => Promise.reject(second) }, b: { start: () => Promise.reject(first) } });
  await expect(work.start(never)).rejects.toMatchObject({ errors: [first, second] });
});

test("a stop during the start stops what has begun to, and nothing further is started", async () => {
  const gate = Promise.withResolvers<void>();
  const stopping = new AbortController();
  const { work, told } = bench({ a: {}, b: { start: () => gate.promise }, c: {} });
  const started = work.start(stopping.signal);
  await expect.poll(() => told).toEqual(["start a", "start b"]);
  stopping.abort(new Error("told to stop"));
  await work.stop();
  gate.resolve();
  await expect(started).rejects.toThrow("told to stop");
  expect(told).toEqual(["start a", "start b", "stop b", "stop a"]);
});

test("a part that does not stop in time gets an abort signal, is named, and keeps none from stopping", async () => {
  const signals: AbortSignal[] = [];
  const hang = (signal: AbortSignal): Promise<void> => {
    signals.push(signal);
    return new Promise(() => undefined);
  };
  const { work, told, late } = bench({ a: { stop: async (signal) => void signals.push(signal) }, b: { stop: hang } }, 20);
  await work.start(never);
  await work.stop();
  expect(told.slice(2)).toEqual(["stop b", "stop a"]);
  expect(late).toEqual([["b", 20]]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test("a late failure of a part that was too slow is ignored", async () => {
  const { work, late } = bench(
    {
      a: {
        stop: (signal) =>
          new Promise((_, reject) => {
            signal.addEventListener("abort", () => setImmediate(() => reject(new Error("too late"))));
          }),
      },
    },
    20,
  );
  await work.start(never);
  await work.stop();
  await new Promise((resolve) => setImmediate(resolve));
  expect(late).toEqual([["a", 20]]);
});

test("a part that cannot stop keeps none from stopping, and its error is reported", async () => {
  const { work, told, late } = bench({ a: {}, b: { stop: () => Promise.reject(new Error("b is stuck")) } });
  await work.start(never);
  await expect(work.stop()).rejects.toThrow("b is stuck");
  expect(told.slice(2)).toEqual(["stop b", "stop a"]);
  expect(late).toEqual([]);
});
