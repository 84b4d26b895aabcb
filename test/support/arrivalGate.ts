/** Holds all callers until the expected number has arrived; later ones pass at once. */
export interface ArrivalGate {
  readonly arrive: () => Promise<void>;
}

export const createArrivalGate = (parties: number): ArrivalGate => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let arrived = 0;
  return {
    arrive: () => {
      if (++arrived >= parties) resolve();
      return promise;
    },
  };
};
