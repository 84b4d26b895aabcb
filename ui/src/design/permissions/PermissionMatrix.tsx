import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { confinedTo, holds, isPermission, type PermissionType, permissionTypes, toggled } from "../../data/access/permissionChoice.ts";
import { heldPermissions } from "../../data/access/sessionState.ts";
import "./matrix.css";

export interface PermissionMatrixProps {
  /** Triples `type.id.action`. */
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  /** Objects, by type, that have a column although nothing is chosen for them yet. */
  readonly scopes: Readonly<Record<string, readonly string[]>>;
  /** The name of an object, or its id where no name is known. */
  readonly nameOf: (id: string) => string;
}

interface CellProps {
  readonly triple: string;
  readonly chosen: readonly string[];
  readonly covered: boolean;
  readonly onToggle: () => void;
}

const Cell = ({ triple, chosen, covered, onToggle }: CellProps): JSX.Element => {
  const note = useId();
  if (!isPermission(triple)) return <span class="quiet">–</span>;
  const checked = covered || chosen.includes(triple);
  const held = holds(heldPermissions.value, triple);
  const reason = covered ? "Chosen for all objects." : held ? undefined : `Your session lacks ${triple}, so it cannot hand it out.`;
  return (
    <>
      <input
        type="checkbox"
        name={triple}
        aria-label={triple}
        title={reason}
        checked={checked}
        // A permission that the session does not hold can be removed but not granted.
        disabled={covered || (!held && !checked)}
        aria-describedby={reason === undefined ? undefined : note}
        onChange={onToggle}
      />
      {!held && !covered && <span class="quiet">not held</span>}
      {reason !== undefined && (
        <span id={note} class="visually-hidden">
          {reason}
        </span>
      )}
    </>
  );
};

const Type = ({ type, actions, chosen, onChange, scopes, nameOf }: PermissionType & PermissionMatrixProps): JSX.Element => {
  const ids = ["*", ...new Set([...(scopes[type] ?? []), ...confinedTo(chosen, type)])];
  return (
    <div class="matrix scrolls" tabIndex={ids.length > 2 ? 0 : undefined}>
      <table>
        <caption>{type}</caption>
        <thead>
          <tr>
            <th scope="col">Action</th>
            {ids.map((id) => (
              <th key={id} scope="col" title={id}>
                {id === "*" ? "all" : nameOf(id)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {actions.map((action) => (
            <tr key={action}>
              <th scope="row">
                <code>{action}</code>
              </th>
              {ids.map((id) => {
                const triple = `${type}.${id}.${action}`;
                const covered = id !== "*" && chosen.includes(`${type}.*.${action}`);
                return (
                  <td key={id}>
                    <Cell triple={triple} chosen={chosen} covered={covered} onToggle={() => onChange(toggled(chosen, triple))} />
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

/** All permissions of root keys as checkboxes that are named by their triple: an action a row, an object a column. */
export const PermissionMatrix = (props: PermissionMatrixProps): JSX.Element => (
  <div class="matrix-types">
    {permissionTypes.map((group) => (
      <Type key={group.type} {...group} {...props} />
    ))}
  </div>
);
