import type { ComponentChildren, JSX } from "preact";

/** A few figures side by side, each under its name. */
export const Figures = ({
  figures,
}: {
  readonly figures: readonly { readonly name: string; readonly figure: ComponentChildren; readonly note?: string | undefined }[];
}): JSX.Element => (
  <dl class="figures">
    {figures.map(({ name, figure, note }) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd class="figure">{figure}</dd>
        {note !== undefined && <dd class="hint">{note}</dd>}
      </div>
    ))}
  </dl>
);
