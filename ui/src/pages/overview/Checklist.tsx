import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../../design/actions/Button.tsx";
import { Secret } from "../../design/dialogs/Secret.tsx";
import { CreateApiStep } from "./CreateApiStep.tsx";
import { CreateKeyStep } from "./CreateKeyStep.tsx";
import type { FirstStep } from "./firstSteps.ts";
import { VerifyKeyStep } from "./VerifyKeyStep.tsx";

const order = ["api", "key", "verify", "done"] as const;

interface StepProps {
  readonly title: string;
  readonly state: "done" | "current" | "later";
  /** The result, once the step is done. */
  readonly made?: ComponentChildren;
  readonly children: ComponentChildren;
}

const Step = ({ title, state, made, children }: StepProps): JSX.Element => (
  <li class={`step ${state}`} aria-current={state === "current" ? "step" : undefined}>
    <h2>
      {title} {state === "done" && <span class="badge good">✓ done</span>}
    </h2>
    {state === "done" && made}
    {state === "current" && children}
  </li>
);

/** The way from a new store to the first verified key: each step by a form or by its command, whichever comes first. */
export const Checklist = ({ at, onDone }: { readonly at: FirstStep; readonly onDone: () => void }): JSX.Element => {
  const [secret, setSecret] = useState<string>();
  const [verified, setVerified] = useState(false);
  const list = useRef<HTMLOListElement>(null);
  const ready = useRef<HTMLDivElement>(null);
  const reached = order.indexOf(verified ? "done" : at.step);
  const state = (step: (typeof order)[number]): StepProps["state"] => {
    const place = order.indexOf(step);
    if (place < reached) return "done";
    return place === reached ? "current" : "later";
  };
  // The form of the step before is gone, and the focus with it: on to the next one.
  const before = useRef(reached);
  useEffect(() => {
    if (before.current === reached || secret !== undefined) return;
    before.current = reached;
    (list.current?.querySelector<HTMLElement>("[aria-current] input") ?? ready.current?.querySelector("button"))?.focus();
  }, [reached, secret === undefined]);

  const api = at.step === "key" || at.step === "verify" ? at : undefined;
  return (
    <>
      <p>Nothing is here yet. Three steps lead to the first verified key. Each can be done on this page or as a command.</p>
      <ol ref={list} class="steps" aria-label="First steps">
        <Step
          title="Create an API"
          state={state("api")}
          made={api !== undefined && <a href={`/ui/apis/${encodeURIComponent(api.apiId)}`}>{api.apiName}</a>}
        >
          <CreateApiStep />
        </Step>
        <Step
          title="Create a key"
          state={state("key")}
          made={at.step === "verify" && <a href={`/ui/keys/${encodeURIComponent(at.keyId)}`}>{at.keyName}</a>}
        >
          {at.step === "key" && <CreateKeyStep apiId={at.apiId} onCreated={setSecret} />}
        </Step>
        <Step title="Verify the key" state={state("verify")}>
          {at.step === "verify" && <VerifyKeyStep apiId={at.apiId} onVerified={() => setVerified(true)} />}
        </Step>
      </ol>
      {reached === order.indexOf("done") && (
        <div ref={ready} class="note">
          <p>The first key is verified: your service calls the same procedure for each request that it gets.</p>
          <Button kind="primary" onClick={onDone}>
            Show the overview
          </Button>
        </div>
      )}
      {secret !== undefined && <Secret title="The new key" secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
};
