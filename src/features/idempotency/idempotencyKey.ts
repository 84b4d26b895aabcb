import { hash } from "node:crypto";
import { invalidInput, type ServiceError, type Violation } from "../../platform/base/errors.ts";

const location = "header.Idempotency-Key";

/** What is wrong with the header: it is 1 to 255 printable ASCII characters. */
export const checkIdempotencyKey = (key: string): Violation | undefined =>
  /^[\x20-\x7e]{1,255}$/.test(key)
    ? undefined
    : { location, message: "want 1 to 255 printable ASCII characters", fix: "Send a random UUID, or leave the header out." };

/** 400: the same key came with another procedure or body. */
export const keyInUse = (): ServiceError =>
  invalidInput("The Idempotency-Key was used for another request.", [
    { location, message: "already used with another procedure or body", fix: "Use a new key for every request." },
  ]);

/** Address of a reservation: the same key of another root key is another. */
export const reservationId = (rootKeyId: string, key: string): string => hash("sha256", `${rootKeyId}\n${key}`, "hex");
