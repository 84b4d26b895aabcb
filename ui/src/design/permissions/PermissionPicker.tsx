import type { JSX } from "preact";
import { useContext, useId, useState } from "preact/hooks";
import { ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { RatelimitService } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { holds, type LabelledTemplate, labelledTemplates, permissionTypes, scopedPermissions } from "../../data/access/permissionChoice.ts";
import { heldPermissions } from "../../data/access/sessionState.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { Button } from "../actions/Button.tsx";
import { FormViolations, violationsAt, violationText } from "../forms/formErrors.ts";
import { SelectField } from "../forms/SelectField.tsx";
import { announce } from "../states/announcements.ts";
import { PermissionMatrix } from "./PermissionMatrix.tsx";

export interface PermissionPickerProps {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

const { listApis } = ApisService.method;
const { listNamespaces } = RatelimitService.method;

/** How many permissions there are to choose from, without objects. */
const total = permissionTypes.reduce((sum, { actions }) => sum + actions.length, 0);

/** Chooses the permissions of a root key: by template, confined to an API or a namespace, and one by one (console §3). */
export const PermissionPicker = ({ chosen, onChange }: PermissionPickerProps): JSX.Element => {
  const heading = useId();
  const [api, setApi] = useState("*");
  const [namespace, setNamespace] = useState("*");
  // Columns stay when another object is looked at.
  const [seen, setSeen] = useState<Readonly<Record<string, readonly string[]>>>({});
  const apis = usePages(listApis, { limit: 100n }, (answer) => answer);
  const namespaces = usePages(listNamespaces, { limit: 100n }, (answer) => answer);
  const names = new Map([...(apis.data ?? []), ...(namespaces.data ?? [])].map(({ id, name }) => [id, name]));
  const problems = violationsAt(useContext(FormViolations), "permissions");

  const look = (type: string, set: (id: string) => void) => (id: string) => {
    set(id);
    if (id !== "*") setSeen((before) => ({ ...before, [type]: [...new Set([...(before[type] ?? []), id])] }));
  };
  const apply = (template: LabelledTemplate): void => {
    const wanted = scopedPermissions(template, { api, ratelimit: namespace });
    const given = wanted.filter((triple) => holds(heldPermissions.value, triple));
    onChange([...given].sort());
    announce(
      given.length === wanted.length
        ? `${template.label}: ${given.length} chosen.`
        : `${template.label}: ${given.length} of ${wanted.length} chosen. Your session does not hold the others.`,
    );
  };
  const options = (all: string, rows: readonly { readonly id: string; readonly name: string }[] | undefined) => [
    { value: "*", label: all },
    ...(rows ?? []).map(({ id, name }) => ({ value: id, label: `${name} (${id})` })),
  ];
  return (
    <section class="answer" aria-labelledby={heading}>
      <h2 id={heading}>Permissions</h2>
      <div class="matrix-scopes">
        <SelectField
          label="Scope to an API"
          name="scope:api"
          value={api}
          options={options("every API", apis.data)}
          onChange={look("api", setApi)}
        />
        <SelectField
          label="Scope to a namespace"
          name="scope:ratelimit"
          value={namespace}
          options={options("every namespace", namespaces.data)}
          onChange={look("ratelimit", setNamespace)}
        />
        {apis.hasMore && (
          <Button pending={apis.loadingMore} onClick={apis.loadMore}>
            More APIs
          </Button>
        )}
        {namespaces.hasMore && (
          <Button pending={namespaces.loadingMore} onClick={namespaces.loadMore}>
            More namespaces
          </Button>
        )}
      </div>
      <div class="actions" role="group" aria-label="Templates">
        {labelledTemplates.map((template) => (
          <Button key={template.label} onClick={() => apply(template)}>
            {template.label}
          </Button>
        ))}
        <Button kind="plain" onClick={() => onChange([])}>
          None
        </Button>
      </div>
      <p>
        <strong>
          {chosen.length} {chosen.length === 1 ? "permission" : "permissions"} chosen
        </strong>{" "}
        <span class="quiet">of {total} actions. Nobody can hand out what they do not hold: that is greyed.</span>
      </p>
      {problems.length > 0 && (
        <ul class="problems">
          {problems.map((violation) => (
            <li key={violation.location}>{violationText(violation, "permissions")}</li>
          ))}
        </ul>
      )}
      <PermissionMatrix chosen={chosen} onChange={onChange} scopes={seen} nameOf={(id) => names.get(id) ?? id} />
    </section>
  );
};
