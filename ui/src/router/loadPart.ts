import { noAnswer } from "../data/calls/callError.ts";

const reloadedBefore = (): boolean => (history.state as { reloaded?: boolean } | null)?.reloaded === true;

const failedStyles = new Set<HTMLLinkElement>();

const noteFailedStyle = ({ target }: Event): void => {
  if (target instanceof HTMLLinkElement && target.rel === "stylesheet") failedStyles.add(target);
};

/** Loads the style sheets again that failed: Vite asks for none of them twice. @throws when one fails again */
const loadFailedStyles = async (): Promise<void> => {
  const loads = [...failedStyles].map((failed) => {
    failedStyles.delete(failed);
    const again = failed.cloneNode() as HTMLLinkElement;
    const loaded = new Promise((resolve, reject) => {
      again.onload = resolve;
      again.onerror = reject;
    });
    failed.replaceWith(again);
    return loaded;
  });
  await Promise.all(loads);
};

/** Whether the service answers at all: every path below /ui is its page. */
const serviceAnswers = async (): Promise<boolean> => {
  try {
    return (await fetch("/ui", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
};

/**
 * Loads a part of the console. When it is not there any more, another version of the service answered: the page reloads once
 * (console §1), which the entry of the history remembers. While nothing answers the page stays: a reload would lose it.
 * @throws {CallError} `network` while the service does not answer; otherwise what the second attempt threw
 */
export const loadPart = async <Part>(load: () => Promise<Part>): Promise<Part> => {
  document.addEventListener("error", noteFailedStyle, true);
  try {
    await loadFailedStyles();
    return await load();
  } catch (error) {
    if (!(await serviceAnswers())) throw noAnswer();
    if (reloadedBefore()) throw error;
    history.replaceState({ reloaded: true }, "");
    location.reload();
    return new Promise(() => undefined);
  }
};
