import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { KeysService, VerificationCodeSchema, type VerifyKeyData } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { enumName } from "../../data/code/enumName.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { readInteger, readList } from "../../data/readInput.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { Int64 } from "../../design/values/Int64.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import type { KeyTabProps } from "./useKey.ts";

const empty = { key: "", permissions: "", cost: "", ratelimits: "", tags: "" };

const Answer = ({
  answer,
  keyId,
  asked,
}: {
  readonly answer: VerifyKeyData;
  readonly keyId: string;
  readonly asked: typeof empty;
}): JSX.Element => {
  const explain = new URLSearchParams({ tab: "explain" });
  if (asked.permissions !== "") explain.set("permissions", asked.permissions);
  if (asked.cost !== "") explain.set("credits.cost", asked.cost);
  if (asked.ratelimits !== "") explain.set("ratelimits", asked.ratelimits);
  return (
    <section class="answer" aria-label="Answer">
      <p class="verdict" role="status">
        <OutcomeBadge outcome={enumName(VerificationCodeSchema, answer.code)} />
        {answer.credits !== undefined && (
          <>
            {" "}
            <Int64 value={answer.credits} /> credits left
          </>
        )}
      </p>
      {answer.keyId !== undefined && answer.keyId !== keyId && (
        <p>
          That is another key: <a href={`/ui/keys/${encodeURIComponent(answer.keyId)}`}>{answer.name ?? answer.keyId}</a>.
        </p>
      )}
      {answer.ratelimits.length > 0 && (
        <ul>
          {answer.ratelimits.map(({ name, remaining, limit, exceeded }) => (
            <li key={name}>
              {name}: {exceeded ? "exceeded, " : ""}
              <Int64 value={remaining} /> of <Int64 value={limit} /> left
            </li>
          ))}
        </ul>
      )}
      {answer.keyId !== undefined && !answer.valid && (
        <p>
          <a href={`/ui/keys/${encodeURIComponent(answer.keyId)}?${explain}`}>Explain</a>
        </p>
      )}
    </section>
  );
};

/** Verifies the key as an application would: the call counts and spends. The person pastes the secret, which the service does not have. */
export const TryTab = ({ stored: { keyId }, api, reload }: KeyTabProps): JSX.Element => {
  const [typed, setTyped] = useState(empty);
  const [answered, setAnswered] = useState<{ readonly answer: VerifyKeyData; readonly asked: typeof empty }>();
  const verify = useMutation(KeysService.method.verifyKey);
  const cost = readInteger(typed.cost);
  const unreadable = cost === "invalid" ? "A whole number, or nothing." : undefined;
  const request = {
    key: typed.key.trim(),
    ...(typed.permissions === "" ? {} : { permissions: typed.permissions }),
    ...(typeof cost === "bigint" ? { credits: { cost } } : {}),
    ratelimits: readList(typed.ratelimits).map((name) => ({ name })),
    tags: readList(typed.tags),
  };
  const set = (name: keyof typeof empty) => (value: string) => setTyped((before) => ({ ...before, [name]: value }));
  const submit = async (): Promise<void> => {
    if (unreadable !== undefined) return;
    setAnswered(undefined);
    const answer = await verify.run(request);
    // It spent: balance and last use are others now.
    reload();
    if (answer?.message.data !== undefined) setAnswered({ answer: answer.message.data, asked: { ...typed, key: "" } });
  };
  return (
    <>
      <Form
        onSubmit={() => void submit()}
        error={verify.error}
        fields={["key", "permissions", "credits.cost", "ratelimits", "tags"]}
        actions={
          <>
            <Button
              kind="primary"
              type="submit"
              pending={verify.pending}
              disabledBecause={missingReason(verify.method, api === undefined ? {} : { api_id: api.id })}
            >
              Verify
            </Button>
            <CodeDrawer method={verify.method} request={request} />
          </>
        }
      >
        <TextField
          label="Secret"
          name="key"
          type="password"
          value={typed.key}
          onChange={set("key")}
          hint="Latchkey stores only the hash, so paste the key. This verification counts, and spends credits and limits."
          required
        />
        <TextField
          label="Permissions"
          name="permissions"
          value={typed.permissions}
          onChange={set("permissions")}
          placeholder="invoices.read"
        />
        <div class="field-row">
          <TextField label="Cost" name="credits.cost" value={typed.cost} onChange={set("cost")} error={unreadable} placeholder="1" />
          <TextField
            label="Limits"
            name="ratelimits"
            value={typed.ratelimits}
            onChange={set("ratelimits")}
            placeholder="Names, with commas"
          />
          <TextField label="Tags" name="tags" value={typed.tags} onChange={set("tags")} placeholder="With commas" />
        </div>
      </Form>
      {answered !== undefined && <Answer {...answered} keyId={keyId} />}
    </>
  );
};
