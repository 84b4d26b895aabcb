import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** Asks a question on `output`. Resolves to the line that is typed; to undefined at the end of input. */
export const askLine = (input: Readable, output: Writable, question: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    output.write(question);
    if (input.readableEnded) {
      resolve(undefined);
      return;
    }
    // `terminal: false`: the kernel handles line editing and Ctrl-C.
    const lines = createInterface({ input, terminal: false });
    let typed: string | undefined;
    lines.once("line", (line) => {
      typed = line;
      lines.close();
    });
    lines.once("close", () => {
      // The key that ends the input leaves the cursor behind the question.
      if (typed === undefined) output.write("\n");
      resolve(typed);
    });
  });
