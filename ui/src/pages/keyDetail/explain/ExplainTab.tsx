import type { JSX } from "preact";
import { KeysService } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { useQuery } from "../../../data/hooks/useQuery.ts";
import { useTyped } from "../../../data/hooks/useTyped.ts";
import { readInteger } from "../../../data/readInput.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Form } from "../../../design/forms/Form.tsx";
import { TextField } from "../../../design/forms/TextField.tsx";
import { QueryView } from "../../../design/states/QueryView.tsx";
import { queryParams, setQueryParams } from "../../../router/address.ts";
import type { KeyTabProps } from "../useKey.ts";
import { ExplainedSteps } from "./ExplainedSteps.tsx";
import { explainParams, explainRequest, readExplainQuery } from "./explainQuery.ts";
import { Suggestions } from "./Suggestions.tsx";

const { explain } = KeysService.method;

/** Why the key would pass or fail, now or at another time, and how to make it pass. The question is in the URL. */
export const ExplainTab = (props: KeyTabProps): JSX.Element => {
  const asked = readExplainQuery(queryParams.value);
  const inUrl = JSON.stringify(asked);
  const [typed, setTyped] = useTyped(asked, inUrl);
  const request = explainRequest(props.stored.keyId, asked);
  const answer = useQuery(explain, request);
  const invalid = answer.error?.kind === "invalid";
  const set = (name: keyof typeof typed) => (value: string) => setTyped((before) => ({ ...before, [name]: value }));
  const unreadable = readInteger(typed["credits.cost"]) === "invalid" ? "A whole number, or nothing." : undefined;
  const submit = (): void => {
    if (unreadable !== undefined) return;
    // The same question again: counters and balances change.
    if (JSON.stringify(typed) === inUrl) answer.reload();
    else setQueryParams({ ...typed }, { replace: false });
  };
  return (
    <>
      <Form
        onSubmit={submit}
        error={invalid ? answer.error : undefined}
        fields={explainParams}
        actions={
          <>
            <Button kind="primary" type="submit">
              Explain
            </Button>
            <CodeDrawer method={explain} request={request} />
          </>
        }
      >
        <div class="field-row">
          <TextField
            label="Permissions"
            name="permissions"
            value={typed.permissions}
            onChange={set("permissions")}
            placeholder="invoices.read AND (a.b OR c.d)"
          />
          <TextField
            label="Cost"
            name="credits.cost"
            value={typed["credits.cost"]}
            onChange={set("credits.cost")}
            error={unreadable}
            placeholder="1"
          />
          <TextField
            label="Limits"
            name="ratelimits"
            value={typed.ratelimits}
            onChange={set("ratelimits")}
            placeholder="Names, with commas"
          />
        </div>
        <div class="field-row">
          <TextField label="Address" name="remoteIp" value={typed.remoteIp} onChange={set("remoteIp")} placeholder="Yours" />
          <TextField label="At" name="at" type="datetime-local" value={typed.at} onChange={set("at")} hint="Empty: now." />
        </div>
      </Form>
      {!invalid && (
        <QueryView query={answer} lines={8}>
          {({ data }) =>
            data !== undefined && (
              <>
                <ExplainedSteps explained={data} />
                <Suggestions {...props} suggestions={data.suggestions} />
              </>
            )
          }
        </QueryView>
      )}
    </>
  );
};
