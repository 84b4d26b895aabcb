import type { JSX } from "preact";
import { type ExplainedRatelimit, RatelimitSourceSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { enumName } from "../../data/code/enumName.ts";
import { durationText } from "../../data/readInput.ts";
import { Int64 } from "../values/Int64.tsx";
import { Time } from "../values/Time.tsx";
import type { Column } from "./DataTable.tsx";

/** The used share of a window: a bar with its numbers. */
const Used = ({ limit, remaining }: ExplainedRatelimit): JSX.Element => (
  <span class="used">
    <meter min={0} max={Number(limit)} value={Number(limit - remaining)} aria-hidden="true" />
    <Int64 value={limit - remaining} /> of <Int64 value={limit} />
  </span>
);

/** The columns of limits with their windows. */
export const limitColumns: readonly Column<ExplainedRatelimit>[] = [
  { id: "name", label: "Name", narrow: true, cell: ({ name }) => name },
  { id: "used", label: "Used", narrow: true, cell: (limit) => <Used {...limit} /> },
  { id: "duration", label: "Per", cell: ({ duration }) => durationText(duration) },
  { id: "reset", label: "Window ends", cell: ({ reset }) => <Time at={reset} relative /> },
  { id: "source", label: "From", cell: ({ source }) => enumName(RatelimitSourceSchema, source) },
  { id: "current", label: "This window", number: true, optional: true, cell: ({ current }) => <Int64 value={current} /> },
  { id: "weighted", label: "Previous window", number: true, optional: true, cell: ({ weighted }) => <Int64 value={weighted} /> },
];
