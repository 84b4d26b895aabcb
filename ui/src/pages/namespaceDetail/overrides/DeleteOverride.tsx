import type { JSX } from "preact";
import { type Override, RatelimitService } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { useMutation } from "../../../data/hooks/useMutation.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../../design/dialogs/Dialog.tsx";
import { announce } from "../../../design/states/announcements.ts";
import { ErrorNote } from "../../../design/states/ErrorNote.tsx";
import { formatDuration } from "../../../design/values/formatDuration.ts";
import { Int64 } from "../../../design/values/Int64.tsx";
import type { NamespaceNames } from "../readNamespace.ts";

export interface DeleteOverrideProps {
  readonly namespace: NamespaceNames;
  readonly override: Override;
  /** How many identifiers it limited in the last 24 hours; undefined: not known. */
  readonly matches: number | undefined;
  readonly onClose: () => void;
}

const limited = (matches: number): string =>
  matches === 0
    ? "It limits no identifier seen in the last 24 hours."
    : `It limits ${matches.toLocaleString("en")} of the identifiers seen in the last 24 hours.`;

/** Takes an override away: what it limited falls back to the next pattern, or to what each check asks for. */
export const DeleteOverride = ({ namespace, override, matches, onClose }: DeleteOverrideProps): JSX.Element => {
  const remove = useMutation(RatelimitService.method.deleteOverride);
  const request = { namespace: namespace.id, identifier: override.identifier };
  const confirm = async (): Promise<void> => {
    if ((await remove.run(request)) === undefined) return;
    announce(`Deleted the override of ${override.identifier}.`);
    onClose();
  };
  return (
    <Dialog title="Delete override" onClose={onClose}>
      <p>
        <code>{override.identifier}</code>: <Int64 value={override.limit} /> per {formatDuration(override.duration)}.
      </p>
      <p>
        {matches === undefined ? "The number of identifiers that it limits is unknown." : limited(matches)} They fall back at once to the
        next pattern that matches, or to the limit that each check asks for.
      </p>
      {remove.error !== undefined && <ErrorNote error={remove.error} />}
      <div class="actions">
        <Button kind="danger" pending={remove.pending} onClick={() => void confirm()}>
          Delete
        </Button>
        <CodeDrawer method={remove.method} request={request} />
      </div>
    </Dialog>
  );
};
