import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLoad } from "../../data/hooks/useLoad.ts";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { lazyPart } from "../../design/states/lazyPart.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { Dashboard } from "./Dashboard.tsx";
import { readFirstStep } from "./firstSteps.ts";
import "./panels.css";

/** Only a new store shows it. */
const Checklist = lazyPart(async () => (await import("./Checklist.tsx")).Checklist, 8);

/** Milliseconds between looks while the checklist shows: a step may be done elsewhere, by its command. */
const lookEvery = 5000;

/** `/ui`: the present activity. On a new store, the steps to the first verified key. */
export const Page = (): JSX.Element => {
  const [guide, setGuide] = useState<"unknown" | "shown" | "left">("unknown");
  const first = useLoad("first step", readFirstStep, guide === "shown" ? { pollEvery: lookEvery } : {});
  const isNew = first.data !== undefined && first.data.step !== "done";
  // It stays until the person leaves it, so that the last step can be read as well; and then it is gone, although a key's last use
  // is known only some seconds later.
  useEffect(() => {
    if (isNew) setGuide((before) => (before === "unknown" ? "shown" : before));
  }, [isNew]);
  const shown = guide === "shown" || (guide === "unknown" && isNew);
  return (
    <PageFrame title="Overview">
      <QueryView query={first} lines={8}>
        {(at) => (shown ? <Checklist at={at} onDone={() => setGuide("left")} /> : <Dashboard />)}
      </QueryView>
    </PageFrame>
  );
};
