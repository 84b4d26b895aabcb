import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { sqlCompletions } from "./completions.ts";

/** The keywords to highlight and complete: those of analytics §3, not all of SQL. */
const dialect = SQLDialect.define({
  keywords: [
    "select distinct from where group by having order asc desc limit offset with as union all except join inner left on using",
    "and or not in between like is null case when then else end over partition fill",
    "interval second minute hour day week month year true false",
  ].join(" "),
  backslashEscapes: true,
  doubleQuotedStrings: false,
  identifierQuotes: '`"',
});

const complete = (context: CompletionContext): CompletionResult | null => {
  const word = context.matchBefore(/\w+/);
  if (word === null && !context.explicit) return null;
  // Columns come first, then tables, then functions.
  const ranks = { column: 2, table: 1, function: 0 } as const;
  const options = sqlCompletions(context.state.doc.toString()).map((option) => ({
    ...option,
    detail: option.type,
    boost: ranks[option.type],
  }));
  return { from: word?.from ?? context.pos, options, validFor: /^\w*$/ };
};

/** The colours are those of the page: its custom properties reach into the shadow root. */
const theme = EditorView.theme({
  "&": { fontSize: "13px", color: "var(--text)", backgroundColor: "var(--surface)", borderRadius: "var(--radius)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", minHeight: "136px", maxHeight: "40vh" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--quiet)", border: "none", borderRadius: "var(--radius)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "var(--accent-ground)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-ground)" },
  ".cm-tooltip": { color: "var(--text)", backgroundColor: "var(--surface)", border: "1px solid var(--line)" },
  // As high as what it shows: what scrolls would have to take the focus, which stays in the text.
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "none" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--text)", backgroundColor: "var(--accent-ground)" },
  ".cm-completionDetail": { color: "var(--quiet)", fontStyle: "normal" },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warning)" },
  { tag: tags.comment, color: "var(--quiet)" },
]);

/**
 * Typing over a selection, done here: the browser would give the new text the style of the old one in a `style` attribute, which the CSP refuses.
 */
const typeOverSelection = (event: InputEvent, view: EditorView): boolean => {
  if (event.inputType !== "insertText" || event.isComposing || event.data === null) return false;
  // The document's selection: the editor may update its own later than the next key press.
  const root: DocumentOrShadowRoot & { readonly getSelection?: () => Selection | null } = view.root;
  const selected = root.getSelection?.();
  const { anchorNode, focusNode } = selected ?? {};
  const isKnown = selected?.isCollapsed === false && anchorNode && focusNode && view.contentDOM.contains(anchorNode);
  const { anchor, head } =
    isKnown && view.contentDOM.contains(focusNode)
      ? { anchor: view.posAtDOM(anchorNode, selected.anchorOffset), head: view.posAtDOM(focusNode, selected.focusOffset) }
      : view.state.selection.main;
  if (anchor === head) return false;
  const [from, to] = anchor < head ? [anchor, head] : [head, anchor];
  const selection = { anchor: from + event.data.length };
  view.dispatch({ changes: { from, to, insert: event.data }, selection, userEvent: "input.type", scrollIntoView: true });
  event.preventDefault();
  return true;
};

export interface CodeEditorOptions {
  /** An element without content; it gets a shadow root. */
  readonly host: HTMLElement;
  readonly text: string;
  /** The editor's accessible name. */
  readonly label: string;
  /** The JSON name of the contract. */
  readonly name: string;
  readonly onChange: (text: string) => void;
  /** Ctrl-Enter. */
  readonly onRun: () => void;
}

/**
 * An SQL editor inside a shadow root: there its styles are sheets that the CSP lets be, in the document they would be `<style>` elements.
 * Tab leaves it, as any other field.
 * @returns ends it
 */
export const openCodeEditor = ({ host, text, label, name, onChange, onRun }: CodeEditorOptions): (() => void) => {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const run = (): boolean => {
    onRun();
    return true;
  };
  const view = new EditorView({
    root,
    parent: root,
    doc: text,
    extensions: [
      keymap.of([{ key: "Mod-Enter", run }, ...defaultKeymap, ...historyKeymap]),
      lineNumbers(),
      history(),
      bracketMatching(),
      autocompletion({ icons: false, maxRenderedOptions: 10 }),
      sql({ dialect, upperCaseKeywords: true }),
      dialect.language.data.of({ autocomplete: complete }),
      syntaxHighlighting(colours),
      theme,
      EditorView.lineWrapping,
      EditorView.domEventHandlers({ beforeinput: typeOverSelection }),
      EditorView.contentAttributes.of({ "aria-label": label, name }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange(update.state.doc.toString());
      }),
    ],
  });
  return () => view.destroy();
};
