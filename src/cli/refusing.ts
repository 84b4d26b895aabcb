import { CommandFailure } from "./command.ts";

/** Resolves to what the work gives; ends the command with 5 where it rejects with an error of this class, whose message is for the user. */
export const refusing = async <T>(work: Promise<T>, refusal: new (...args: never[]) => Error): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    throw error instanceof refusal ? new CommandFailure(5, error.message) : error;
  }
};
