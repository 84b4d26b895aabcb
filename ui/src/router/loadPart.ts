const reloadedBefore = (): boolean => (history.state as { reloaded?: boolean } | null)?.reloaded === true;

/**
 * Loads a part of the console. When it is not there any more, another version of the service answered: the page reloads once
 * (console §1), which the entry of the history remembers.
 * @throws what the second attempt threw
 */
export const loadPart = async <Part>(load: () => Promise<Part>): Promise<Part> => {
  try {
    return await load();
  } catch (error) {
    if (reloadedBefore()) throw error;
    history.replaceState({ reloaded: true }, "");
    location.reload();
    return new Promise(() => undefined);
  }
};
