const guards = new Set<() => string>();

/** Warns before the page is left, as long as it is not taken back. @param question what a person is asked: "The key was not copied. Leave?" */
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
