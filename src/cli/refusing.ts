import { CommandFailure } from "./command.ts";

/**
 * Ends a command with 5 where its work rejects with an error of this class, which stands for what is against it; what the work gives otherwise.
 * @param load asked only when something has failed: the class may belong to modules that are loaded where they are needed
 */
export const refusing = async <T>(work: Promise<T>, load: () => Promise<new (...args: never[]) => Error>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    throw error instanceof (await load()) ? new CommandFailure(5, error.message) : error;
  }
};
