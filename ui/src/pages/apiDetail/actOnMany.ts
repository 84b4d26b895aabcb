import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { type CallOptions, call } from "../../data/calls/call.ts";
import { CallError, readCallError } from "../../data/calls/callError.ts";

const { getKey, updateKey, deleteKey } = KeysService.method;

/** An action on many keys. */
export type ManyAct = "Enable" | "Disable" | "Delete";

/** Above this the number of keys has to be typed first (console §3). */
export const mostWithoutTyping = 10;

/** The procedure that does it to one. */
export const methodOf = (act: ManyAct): DescMethodUnary => (act === "Delete" ? deleteKey : updateKey);

/**
 * The call for one key, if it is still the key that was shown: a list answers no ETag, so the key is read again first (management §2).
 * @throws {CallError} `changed` when the key has been changed since
 */
export const callFor = async (act: ManyAct, { keyId, updatedAt }: Key, options: CallOptions): Promise<void> => {
  const { message, etag } = await call(getKey, { keyId });
  if (message.data?.updatedAt !== updatedAt) {
    throw new CallError("changed", "This key has changed since the list was read. Check it, then try again.", {});
  }
  if (act === "Delete") await call(deleteKey, { keyId }, { ...options, ifMatch: etag });
  else await call(updateKey, { keyId, enabled: act === "Enable" }, { ...options, ifMatch: etag });
};

/** A key that was left as it was, and why. */
export interface FailedKey {
  readonly key: Key;
  readonly error: CallError;
}

/** How far an act has come. */
export interface ManyProgress {
  readonly done: number;
  readonly failed: readonly FailedKey[];
}

/**
 * One call per key, one after the other; what fails is listed and the others go on.
 * @param run makes the call for a key
 * @param stopped asked before each
 * @param progress told after each
 */
export const actOnMany = async (
  keys: readonly Key[],
  run: (key: Key) => Promise<void>,
  stopped: () => boolean,
  progress: (so: ManyProgress) => void,
): Promise<void> => {
  let done = 0;
  const failed: FailedKey[] = [];
  for (const key of keys) {
    if (stopped()) return;
    try {
      await run(key);
      done += 1;
    } catch (thrown) {
      failed.push({ key, error: readCallError(thrown) });
    }
    progress({ done, failed: [...failed] });
  }
};
