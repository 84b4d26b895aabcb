import { effect, type Signal, signal } from "@preact/signals";
import { readStored, store } from "./stored.ts";

/** `system` follows the reader's device. */
export type Theme = "system" | "light" | "dark";

const read = (): Theme => {
  const stored = readStored("theme");
  return stored === "light" || stored === "dark" ? stored : "system";
};

/** The chosen theme. */
export const theme: Signal<Theme> = signal<Theme>("system");

/** Applies what was chosen before, and every choice from now on. */
export const startTheme = (): void => {
  theme.value = read();
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    store("theme", theme.value === "system" ? undefined : theme.value);
  });
};
