import type { Key } from "../../../gen/latchkey/v2/common_pb.ts";

/** Whether a key can pass at all, in one word. @param now Unix ms */
export const keyState = ({ enabled, expires }: Pick<Key, "enabled" | "expires">, now: number): "enabled" | "disabled" | "expired" => {
  if (!enabled) return "disabled";
  return expires !== undefined && Number(expires) <= now ? "expired" : "enabled";
};
