import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Something that the palette does. */
export interface Command {
  /** "Create API" */
  readonly label: string;
  readonly run: () => void;
}

/** The commands of the pages that are shown. */
export const pageCommands: Signal<readonly Command[]> = signal<readonly Command[]>([]);

/** Adds actions of a page to the palette while the page is shown. */
export const usePageCommands = (commands: readonly Command[]): void => {
  // Labels identify commands; `run` is a new function at each render.
  useEffect(() => {
    pageCommands.value = [...pageCommands.value, ...commands];
    return () => {
      pageCommands.value = pageCommands.value.filter((command) => !commands.includes(command));
    };
  }, [commands.map(({ label }) => label).join("\n")]);
};
