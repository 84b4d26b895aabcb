import { UsageError } from "./command.ts";

/** The value of an option `--name`; refuses other lengths than the 1 to 255 characters that names have (rootkeys §2, management §8). */
export const checkName = (name: string | undefined): string | undefined => {
  if (name === undefined) return undefined;
  const length = [...name].length;
  if (length < 1 || length > 255) throw new UsageError(`--name: ${length} characters, want 1 to 255`);
  return name;
};
