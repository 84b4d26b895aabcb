import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { PartFailed } from "../../design/states/PartFailed.tsx";
import { Skeleton } from "../../design/states/Skeleton.tsx";
import { loadPart } from "../../router/loadPart.ts";
import { usePart } from "../../router/usePart.ts";

export interface SqlEditorProps {
  /** The initial text; afterwards the text is the editor's. Another initial text needs another `key`. */
  readonly initial: string;
  readonly onChange: (text: string) => void;
  /** Ctrl-Enter. */
  readonly onRun: () => void;
}

type EditorPart = typeof import("./codeEditor.ts");

let loaded: EditorPart | undefined;

const loadEditor = async (): Promise<EditorPart> => {
  loaded = await loadPart(() => import("./codeEditor.ts"));
  return loaded;
};

/** The editor of the query, which is loaded with this page only (console §1). */
export const SqlEditor = ({ initial, onChange, onRun }: SqlEditorProps): JSX.Element => {
  const host = useRef<HTMLDivElement>(null);
  // The editor keeps its first handlers, but the page's functions are new at each render.
  const handlers = useRef({ onChange, onRun });
  handlers.current = { onChange, onRun };
  const { part: editor, error, retry } = usePart(loadEditor, loadEditor, () => loaded);
  useEffect(() => {
    if (editor === undefined || host.current === null) return;
    return editor.openCodeEditor({
      host: host.current,
      text: initial,
      label: "Query",
      name: "query",
      onChange: (text) => handlers.current.onChange(text),
      onRun: () => handlers.current.onRun(),
    });
  }, [editor]);
  return (
    <div class="sql-editor">
      {error !== undefined && <PartFailed error={error} onRetry={retry} />}
      {editor === undefined && error === undefined && <Skeleton lines={6} />}
      <div ref={host} />
    </div>
  );
};
