import type { ComponentChildren, JSX } from "preact";

export interface Bar {
  readonly key: string;
  readonly name: ComponentChildren;
  readonly value: number;
}

export interface BarListProps {
  /** "Verifications by key". */
  readonly title: string;
  /** Heading of the names: "Key". */
  readonly names: string;
  /** Heading of the values: "Verifications". */
  readonly values: string;
  readonly bars: readonly Bar[];
}

/** A chart that is its own table: a bar beside each number. */
export const BarList = ({ title, names, values, bars }: BarListProps): JSX.Element => {
  const highest = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <table class="bars" aria-label={title}>
      <thead>
        <tr>
          <th scope="col">{names}</th>
          <th scope="col" class="number">
            {values}
          </th>
          <td class="bar-column" aria-hidden="true" />
        </tr>
      </thead>
      <tbody>
        {bars.map(({ key, name, value }) => (
          <tr key={key}>
            <th scope="row">{name}</th>
            <td class="number">{value.toLocaleString("en")}</td>
            <td class="bar-column" aria-hidden="true">
              <span class="bar" style={{ width: `${(Math.max(0, value) / highest) * 100}%` }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};
