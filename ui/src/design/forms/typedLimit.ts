import { readInteger } from "../../data/readInput.ts";

/** A rate limit as it is typed: a request of the contract once its numbers are read. */
export interface TypedLimit {
  readonly name: string;
  readonly limit: string;
  /** Milliseconds. */
  readonly duration: string;
  readonly autoApply: boolean;
}

/** A stored limit, or one to be stored. */
export interface LimitNumbers {
  readonly name: string;
  readonly limit: bigint;
  /** Milliseconds. */
  readonly duration: bigint;
  readonly autoApply: boolean;
}

/** What a new row begins with. */
export const newLimit: TypedLimit = { name: "", limit: "100", duration: "60000", autoApply: true };

/** A stored limit as a form edits it. */
export const typedLimit = ({ name, limit, duration, autoApply }: LimitNumbers): TypedLimit => ({
  name,
  limit: String(limit),
  duration: String(duration),
  autoApply,
});

const whole = (text: string): bigint => {
  const value = readInteger(text);
  // The service says at the field that 0 is too little.
  return typeof value === "bigint" ? value : 0n;
};

/** What a request takes; numbers that cannot be read become 0, which the service refuses at their field. */
export const readLimits = (typed: readonly TypedLimit[]): LimitNumbers[] =>
  typed.map(({ name, limit, duration, autoApply }) => ({ name, limit: whole(limit), duration: whole(duration), autoApply }));

const units: readonly (readonly [unit: string, milliseconds: bigint])[] = [
  ["day", 86_400_000n],
  ["hour", 3_600_000n],
  ["minute", 60_000n],
  ["second", 1000n],
];

/** A duration in the largest unit that fits: 60000 → "minute", 90000 → "90 seconds". */
export const durationText = (duration: bigint): string => {
  const [unit, length] = units.find(([, milliseconds]) => duration >= milliseconds && duration % milliseconds === 0n) ?? ["ms", 1n];
  const count = duration / length;
  if (unit === "ms") return `${count} ms`;
  return count === 1n ? unit : `${count} ${unit}s`;
};

/** A limit in one line: "requests: 100 in a minute, always". */
export const limitText = ({ name, limit, duration, autoApply }: LimitNumbers): string => {
  const time = durationText(duration);
  return `${name}: ${limit.toLocaleString("en")} in ${/^\d/.test(time) ? time : `1 ${time}`}${autoApply ? ", always" : ""}`;
};
