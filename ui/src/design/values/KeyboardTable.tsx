import type { JSX } from "preact";

const keys: readonly (readonly [keys: string, what: string])[] = [
  ["Ctrl K", "go to a page, an action, an object, a pasted id"],
  ["/", "search on this page"],
  ["?", "this help"],
  ["↑ ↓", "next and previous row of a table"],
  ["Page ↑ ↓, Home, End", "far rows of a table"],
  ["← →", "next and previous tab"],
  ["Esc", "close a dialog"],
];

/** The keyboard shortcuts of the console. */
export const KeyboardTable = (): JSX.Element => (
  <table>
    <thead>
      <tr>
        <th scope="col">Key</th>
        <th scope="col">Action</th>
      </tr>
    </thead>
    <tbody>
      {keys.map(([key, what]) => (
        <tr key={key}>
          <th scope="row">
            <kbd>{key}</kbd>
          </th>
          <td>{what}</td>
        </tr>
      ))}
    </tbody>
  </table>
);
