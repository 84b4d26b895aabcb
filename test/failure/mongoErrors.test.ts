import { MongoServerError } from "mongodb";
import { expect, test } from "vitest";
import { toStoreError } from "../../src/platform/storage/mongo/mongoErrors.ts";
import { StoreUnavailableError } from "../../src/platform/storage/port/errors.ts";

test.each(["EPIPE", "ECONNRESET"])("%s, an error of the socket that the driver passes on, means that the store is unavailable", (code) => {
  const error = Object.assign(new Error("This socket has been ended by the other party"), { code });
  expect(toStoreError(error, "read")).toBeInstanceOf(StoreUnavailableError);
  expect(toStoreError(error, "read")).toMatchObject({ outcomeUnknown: false, cause: error });
  expect(toStoreError(error, "write")).toMatchObject({ outcomeUnknown: true });
});

test.each([
  ["MongoDB", 50],
  ["FerretDB", 67_371_461],
])("an operation that %s ended for taking too long is distinguished from an unavailable server", (_, code) => {
  expect(toStoreError(new MongoServerError({ code, message: "too long" }), "read")).toMatchObject({ tooSlow: true });
  expect(toStoreError(new MongoServerError({ code: 91, message: "shutting down" }), "read")).toMatchObject({ tooSlow: false });
});

test("an error that is no matter of the connection stays what it is", () => {
  for (const error of [new TypeError("a bug"), new MongoServerError({ code: 2, message: "BadValue" })]) {
    expect(toStoreError(error, "read")).toBe(error);
  }
});
