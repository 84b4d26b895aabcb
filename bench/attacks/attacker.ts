/**
 * One attack, in a process of its own: what it opened ends with it. Reads its name, its target and its seconds as JSON from
 * its first argument, and prints answers by their status as JSON.
 */
import { setPriority } from "node:os";
import type { AttackTarget } from "./attack.ts";
import { attacks } from "./attacks.ts";

const { name, target, seconds }: { name: string; target: AttackTarget; seconds: number } = JSON.parse(process.argv[2] ?? "{}");
const attack = attacks.find((each) => each.name === name);
if (attack === undefined) throw new Error(`there is no attack ${name}`);
// The polite client shares this core, and must not wait for anybody but the server.
setPriority(19);
const outcomes: Record<string, number> = {};
const count = (outcome: string | number): void => {
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
};
const end = (): never => {
  console.log(JSON.stringify(outcomes));
  process.exit();
};
const signal = AbortSignal.timeout(seconds * 1_000);
// What hangs, such as a stream that is never answered, ends with the process.
signal.addEventListener("abort", () => setTimeout(end, 200));
await attack.run({ target, signal, count });
