import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Skeleton } from "../../design/states/Skeleton.tsx";
import { loadPart } from "../../router/loadPart.ts";

export interface SqlEditorProps {
  /** What it begins with; afterwards the text is the editor's. Another text needs another `key`. */
  readonly initial: string;
  readonly onChange: (text: string) => void;
  /** Ctrl-Enter. */
  readonly onRun: () => void;
}

/** The editor of the query, which is loaded with this page only (console §1). */
export const SqlEditor = ({ initial, onChange, onRun }: SqlEditorProps): JSX.Element => {
  const host = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  // The editor keeps what it was given; the page's functions are made anew at each render.
  const handlers = useRef({ onChange, onRun });
  handlers.current = { onChange, onRun };
  useEffect(() => {
    let close: (() => void) | undefined;
    let gone = false;
    loadPart(() => import("./codeEditor.ts")).then(
      ({ openCodeEditor }) => {
        if (gone || host.current === null) return;
        close = openCodeEditor({
          host: host.current,
          text: initial,
          label: "Query",
          name: "query",
          onChange: (text) => handlers.current.onChange(text),
          onRun: () => handlers.current.onRun(),
        });
        setOpen(true);
      },
      () => undefined,
    );
    return () => {
      gone = true;
      close?.();
    };
  }, []);
  return (
    <div class="sql-editor">
      {!open && <Skeleton lines={6} />}
      <div ref={host} />
    </div>
  );
};
