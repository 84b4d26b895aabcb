import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Milliseconds without a sign of waiting (console §3): most answers are there before. */
const patience = 150;

/** Grey lines in the place of what is being read. */
export const Skeleton = ({ lines = 4 }: { readonly lines?: number }): JSX.Element => {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), patience);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status" aria-busy="true">
      <span class="visually-hidden">Loading</span>
      {shown && Array.from({ length: lines }, (_, line) => <span key={line} class="skeleton-line" />)}
    </div>
  );
};
