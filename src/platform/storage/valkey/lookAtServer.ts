import type { ServerFacts } from "../port/counterServer.ts";
import type { ServerNode } from "./link.ts";
import { CounterServerUnusableError } from "./valkeyErrors.ts";

/** The oldest version whose scripts do what ours need: all or nothing, replicated by their effects. */
const OLDEST = 7;

const fieldOf = (info: string, name: string): string | undefined => new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1];

/** Asks a server what it is. Rejects with `CounterServerUnusableError` when it is too old. */
export const lookAtServer = async (node: ServerNode): Promise<Omit<ServerFacts, "server">> => {
  const info = `${await node.send(["INFO", "server"])}\n${await node.send(["INFO", "memory"])}`;
  const valkeyVersion = fieldOf(info, "valkey_version");
  const compatible = fieldOf(info, "redis_version");
  if (compatible === undefined) throw new CounterServerUnusableError(`${node.name} is not a Valkey or Redis server`);
  const product = valkeyVersion === undefined ? "Redis" : "Valkey";
  const version = valkeyVersion ?? compatible;
  if (Number.parseInt(compatible, 10) < OLDEST) {
    throw new CounterServerUnusableError(
      `${node.name} is ${product} ${version}: rate limits need Valkey 7.2 or Redis 7.0, or a newer version`,
    );
  }
  const policy = fieldOf(info, "maxmemory_policy");
  const isBounded = fieldOf(info, "maxmemory") !== "0";
  const warning =
    isBounded && policy !== "noeviction"
      ? `its maxmemory-policy is ${policy}: when its memory is full it removes counters that still count, and limits are exceeded; set it to noeviction`
      : undefined;
  return { product, version, warning };
};
