import { create, type DescMessage, type DescMethodUnary, type MessageInitShape } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { snippet } from "../../data/code/snippets.ts";
import { CopyButton } from "../../design/actions/CopyButton.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { CodeBlock } from "../../design/values/CodeBlock.tsx";

export interface CommandOfStepProps<Input extends DescMessage> {
  readonly method: DescMethodUnary<Input, DescMessage>;
  readonly request: MessageInitShape<Input>;
}

/** A step as the command that does the same, ready to be run: the key it takes is that of the variable `KEY`. */
export const CommandOfStep = <Input extends DescMessage>({ method, request }: CommandOfStepProps<Input>): JSX.Element => {
  const code = useRef<HTMLElement>(null);
  const text = snippet("curl", { method, request: create(method.input, request) }, location.origin).replace("$SECRET", `'"$KEY"'`);
  return (
    <details open>
      <summary>As a command</summary>
      <CodeBlock label="As a command" text={text} codeRef={code} />
      <p class="hint">
        <code>$ROOT_KEY</code> is a root key that may do this
        {text.includes("$KEY") && (
          <>
            , <code>$KEY</code> for the key
          </>
        )}
        .
      </p>
      <div class="actions">
        <CopyButton text={() => text} shownIn={() => code.current} />
        <CodeDrawer method={method} request={request} />
      </div>
    </details>
  );
};
