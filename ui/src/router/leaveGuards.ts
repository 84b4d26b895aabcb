const guards = new Set<() => string>();

/** Asks before the person leaves the page. @param question "The key was not copied. Leave?" @returns takes the guard back */
export const guardLeaving = (question: string): (() => void) => {
  const guard = (): string => question;
  const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
  guards.add(guard);
  addEventListener("beforeunload", warn);
  return () => {
    guards.delete(guard);
    removeEventListener("beforeunload", warn);
  };
};

/** Whether the person may go on to another page: asks where something would be lost. */
export const mayLeave = (): boolean => [...guards].every((guard) => confirm(guard()));
