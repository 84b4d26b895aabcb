import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Milliseconds without a sign of waiting (console §3): most answers are there before. */
const patience = 150;

/** Height of a line and the room behind it, px, as `states.css` has them. */
const lineHeight = 24;

/** Grey placeholder lines that reserve the space of the content, so that the page does not jump when it arrives. */
export const Skeleton = ({ lines = 4 }: { readonly lines?: number }): JSX.Element => {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), patience);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status" aria-busy="true" style={{ minHeight: `${lines * lineHeight}px` }}>
      <span class="visually-hidden">Loading</span>
      {shown && Array.from({ length: lines }, (_, line) => <span key={line} class="skeleton-line" />)}
    </div>
  );
};
