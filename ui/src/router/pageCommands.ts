import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Something that the palette does. */
export interface Command {
  /** "Create API" */
  readonly label: string;
  readonly run: () => void;
}

/** What the pages that are shown offer. */
export const pageCommands: Signal<readonly Command[]> = signal<readonly Command[]>([]);

/** Offers actions of a page in the palette, as long as it is shown. */
export const usePageCommands = (commands: readonly Command[]): void => {
  // Labels tell when they are others; `run` is made anew at each render.
  useEffect(() => {
    pageCommands.value = [...pageCommands.value, ...commands];
    return () => {
      pageCommands.value = pageCommands.value.filter((command) => !commands.includes(command));
    };
  }, [commands.map(({ label }) => label).join("\n")]);
};
