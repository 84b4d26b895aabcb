import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { type Language, languages, snippet } from "../../data/code/snippets.ts";
import { Button } from "../actions/Button.tsx";
import { CopyButton } from "../actions/CopyButton.tsx";
import { RadioGroup } from "../forms/RadioGroup.tsx";
import { CodeBlock } from "../values/CodeBlock.tsx";
import { Dialog } from "./Dialog.tsx";

export interface CodeDrawerProps<Input extends DescMessage> {
  readonly method: DescMethodUnary<Input, DescMessage>;
  /** The call just made, or about to be made. */
  readonly request: MessageInitShape<Input>;
}

const Drawer = <Input extends DescMessage>({
  method,
  request,
  onClose,
}: CodeDrawerProps<Input> & { readonly onClose: () => void }): JSX.Element => {
  const [language, setLanguage] = useState<Language>("curl");
  const code = useRef<HTMLElement>(null);
  const text = snippet(language, { method, request: create(method.input, request) }, location.origin);
  return (
    <Dialog title="As code" onClose={onClose} place="side">
      <RadioGroup
        label="Language"
        name="language"
        value={language}
        options={languages.map((value) => ({ value, label: value }))}
        onChange={setLanguage}
      />
      <CodeBlock label="Code" text={text} codeRef={code} />
      <div class="actions">
        <CopyButton text={() => text} shownIn={() => code.current} />
      </div>
      <p class="quiet">
        <code>$ROOT_KEY</code> is a root key that may do this.
      </p>
    </Dialog>
  );
};

/** "Show code": the call as curl, grpcurl and TypeScript, made from the very message (console §3). */
export const CodeDrawer = <Input extends DescMessage>(props: CodeDrawerProps<Input>): JSX.Element => {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Show code</Button>
      {open && <Drawer {...props} onClose={() => setOpen(false)} />}
    </>
  );
};
