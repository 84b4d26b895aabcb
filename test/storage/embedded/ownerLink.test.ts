import { deserialize, serialize } from "node:v8";
import { expect, test } from "vitest";
import { type CarriedError, carryError, receiveError } from "../../../src/storage/embedded/owner/carriedErrors.ts";
import { createOwnerLink } from "../../../src/storage/embedded/owner/ownerLink.ts";
import type { ToOwner } from "../../../src/storage/embedded/owner/ownerMessages.ts";
import {
  DocumentTooNewError,
  DuplicateKeyError,
  StoreDamagedError,
  StoreOverloadedError,
  StoreUnavailableError,
} from "../../../src/storage/port/errors.ts";
import { SchemaTooNewError } from "../../../src/storage/schemaVersion.ts";

const carried = (error: unknown): Error => receiveError(deserialize(serialize(carryError(error))) as CarriedError);

test.each([
  new DuplicateKeyError("keys_hash"),
  new StoreUnavailableError("away"),
  new StoreUnavailableError("late", { tooSlow: true, cause: new Error("a disk") }),
  new StoreUnavailableError("lost", { outcomeUnknown: true }),
  new StoreDamagedError("a part is damaged"),
  new DocumentTooNewError("keys", "key_1", 9, 3),
  new StoreOverloadedError("too much"),
  new SchemaTooNewError(9),
  new TypeError("no store accepts this"),
])("[issue 22] another process gets the same error: %s", (error) => {
  const received = carried(error);
  expect(received).toBeInstanceOf(error.constructor);
  expect(received).toBeInstanceOf(Error);
  expect({ ...received, message: received.message, name: received.name }).toEqual({ ...error, message: error.message, name: error.name });
});

test("[issue 22] what is no error, or one that nobody tells from others, is still one with its message", () => {
  expect(carried("text")).toMatchObject({ name: "Error", message: "text" });
  expect(carried(Object.assign(new RangeError("too far"), { held: { more: 1 } }))).toMatchObject({
    name: "RangeError",
    message: "too far",
  });
});

test("[issue 22] a call has all parts of its result; one that is aborted before it began ends with the signal's reason, and one that had begun as it ends", async () => {
  const sent: ToOwner[] = [];
  const link = createOwnerLink((message) => sent.push(message));
  const [first, second] = [new AbortController(), new AbortController()];
  const reason = new Error("the caller left");
  const calls = [link.call("scrub", [], first.signal), link.call("scrub", [], second.signal)];
  await expect(link.call("scrub", [], AbortSignal.abort(reason))).rejects.toBe(reason);
  first.abort(reason);
  second.abort(reason);
  expect(sent.map(({ type, call }) => [type, call])).toEqual([
    ["call", 1],
    ["call", 2],
    ["abort", 1],
    ["abort", 2],
  ]);
  link.take([
    { call: 1, aborted: true },
    { call: 2, result: true },
  ]);
  expect(await Promise.allSettled(calls)).toEqual([
    { status: "rejected", reason },
    { status: "fulfilled", value: true },
  ]);
  const listed = link.call("list", [{ $gte: "k" }, 2]);
  link.take([{ call: 3, part: ["a"] }]);
  link.take([
    { call: 3, part: ["b"] },
    { call: 3, result: [] },
  ]);
  expect(await listed).toEqual([["a"], ["b"]]);
  const endless = link.call("progress", []);
  await link.close();
  await expect(link.call("ping", [])).rejects.toThrow(StoreUnavailableError);
  link.take([{ call: 4, result: undefined }]);
  await endless;
});
