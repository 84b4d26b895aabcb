import { useEffect, useState } from "preact/hooks";

const rounded = (step: number): number => Math.floor(Date.now() / step) * step;

/** The time in steps, Unix ms: requests made of it stay equal within a step, and move on with it. @param step ms */
export const useNow = (step: number): number => {
  const [now, setNow] = useState(() => rounded(step));
  useEffect(() => {
    setNow(rounded(step));
    const timer = setInterval(() => setNow(rounded(step)), Math.min(step, 60_000));
    return () => clearInterval(timer);
  }, [step]);
  return now;
};
