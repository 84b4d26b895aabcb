import type { JSX, Ref } from "preact";

export interface CodeBlockProps {
  /** "The body". */
  readonly label: string;
  readonly text: string;
  /** The element with the text. */
  readonly codeRef?: Ref<HTMLElement>;
}

/** Code in several lines. It scrolls when it is long, so it can be reached by keyboard. */
export const CodeBlock = ({ label, text, codeRef }: CodeBlockProps): JSX.Element => (
  <pre class="code" tabIndex={0} role="region" aria-label={label}>
    <code ref={codeRef ?? null}>{text}</code>
  </pre>
);
