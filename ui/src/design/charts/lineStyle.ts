/** Dashes of the lines of a chart, so that they can be told apart without colours. `charts.css` has the same for the legend. */
const dashes: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [8, 3, 2, 3], [12, 6], [4, 4]];

/** Colour and dashes of a chart's nth line. @param style of an element below the theme's colours */
export const lineStyle = (index: number, style: CSSStyleDeclaration): { readonly stroke: string; readonly dash: number[] } => ({
  stroke: style.getPropertyValue(`--series-${index % dashes.length}`),
  dash: [...(dashes[index % dashes.length] ?? [])],
});
