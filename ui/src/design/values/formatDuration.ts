const units: readonly (readonly [name: string, milliseconds: bigint])[] = [
  ["day", 86_400_000n],
  ["hour", 3_600_000n],
  ["minute", 60_000n],
  ["second", 1000n],
];

/** A duration in the largest unit that says it exactly: "1 minute", "90 seconds", "1,500 ms". @param duration whole milliseconds */
export const formatDuration = (duration: bigint | number): string => {
  const milliseconds = BigInt(duration);
  const [name, length] = units.find(([, each]) => milliseconds !== 0n && milliseconds % each === 0n) ?? ["", 1n];
  const count = milliseconds / length;
  const shown = count.toLocaleString("en");
  return name === "" ? `${shown} ms` : `${shown} ${name}${count === 1n ? "" : "s"}`;
};
