import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import { changesMade } from "../../data/calls/call.ts";
import { Button } from "../../design/actions/Button.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { relativeTime } from "../../design/values/formatTime.ts";
import { actOnMany, callFor, type ManyAct, type ManyProgress, mostWithoutTyping } from "./actOnMany.ts";

export interface ManyKeysProps {
  readonly act: ManyAct;
  readonly keys: readonly Key[];
  /** @param left those that were not changed, which stay chosen */
  readonly onClose: (left: readonly Key[]) => void;
}

const verbs: Readonly<Record<ManyAct, string>> = { Enable: "enabled", Disable: "disabled", Delete: "deleted" };

/** When one of them was last used, in words. */
const lastUse = (keys: readonly Key[]): string => {
  const used = keys.flatMap(({ lastUsedAt }) => lastUsedAt ?? []);
  if (used.length === 0) return "None of them was ever used.";
  const last = Math.max(...used.map(Number));
  return `${used.length} of them ${used.length === 1 ? "was" : "were"} used, the last ${relativeTime(last, Date.now())}.`;
};

/** Enables, disables or deletes many keys: one call each, with progress; it can be stopped, and what failed is listed (console §3). */
export const ManyKeys = ({ act, keys: given, onClose }: ManyKeysProps): JSX.Element => {
  // The list behind keeps reloading; the selection stays.
  const [keys] = useState(given);
  const [idempotencyKeys] = useState(() => new Map(keys.map(({ keyId }) => [keyId, crypto.randomUUID()])));
  const [typed, setTyped] = useState("");
  const [state, setState] = useState<"asking" | "running" | "stopped" | "done">("asking");
  const [progress, setProgress] = useState<ManyProgress>({ done: 0, failed: [] });
  const stop = useRef(false);
  const finished = useRef(new Set<string>());
  useEffect(
    () => () => {
      stop.current = true;
    },
    [],
  );
  const count = String(keys.length);
  const mustType = keys.length > mostWithoutTyping;
  const confirmed = !mustType || typed.trim() === count;
  const start = async (): Promise<void> => {
    if (!confirmed || state !== "asking") return;
    setState("running");
    const run = async (key: Key): Promise<void> => {
      await callFor(act, key, { quiet: true, ...ofKey(key.keyId) });
      finished.current.add(key.keyId);
    };
    await actOnMany(keys, run, () => stop.current, setProgress);
    changesMade.value += 1;
    setState(stop.current ? "stopped" : "done");
  };
  const ofKey = (keyId: string): { idempotencyKey?: string } => {
    const idempotencyKey = idempotencyKeys.get(keyId);
    return idempotencyKey === undefined ? {} : { idempotencyKey };
  };
  const close = (): void => onClose(keys.filter(({ keyId }) => !finished.current.has(keyId)));
  const { done, failed } = progress;
  return (
    <Dialog title={`${act} ${count} ${keys.length === 1 ? "key" : "keys"}`} onClose={close}>
      {state === "asking" ? (
        <Form
          onSubmit={() => void start()}
          error={undefined}
          fields={[]}
          actions={
            <Button
              kind={act === "Delete" ? "danger" : "primary"}
              type="submit"
              disabledBecause={confirmed ? undefined : "Type the number of keys first."}
            >
              {act}
            </Button>
          }
        >
          <p>
            {act === "Enable" ? "They work again at once." : "They stop working at once."} {lastUse(keys)}
          </p>
          {mustType && (
            <>
              <p>
                Type <strong class="confirm-name">{count}</strong> to go on.
              </p>
              <TextField label="Number of keys to confirm" name="confirm" value={typed} onChange={setTyped} autofocus />
            </>
          )}
        </Form>
      ) : (
        <>
          <progress max={keys.length} value={done + failed.length} aria-label="Progress" />
          <p role="status">
            {done} of {count} {verbs[act]}
            {failed.length > 0 && `, ${failed.length} failed`}
            {state === "stopped" && ", stopped"}
            {state === "done" && ", finished"}.
          </p>
          {failed.length > 0 && (
            <ul class="failed-keys" aria-label="Failed">
              {failed.map(({ key, error }) => (
                <li key={key.keyId}>
                  {key.name ?? key.keyId}: {error.message} <span class="quiet">{error.requestId}</span>
                </li>
              ))}
            </ul>
          )}
          {state === "running" && (
            <div class="actions">
              <Button
                onClick={() => {
                  stop.current = true;
                }}
              >
                Stop
              </Button>
            </div>
          )}
        </>
      )}
    </Dialog>
  );
};
