import { CommandFailure } from "./command.ts";

/** Ends a command with 5 where its work rejects with an error of this class, whose message says what is against it; what the work gives otherwise. */
export const refusing = async <T>(work: Promise<T>, refusal: new (...args: never[]) => Error): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    throw error instanceof refusal ? new CommandFailure(5, error.message) : error;
  }
};
