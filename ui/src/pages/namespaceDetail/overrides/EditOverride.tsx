import type { JSX } from "preact";
import { type Override, RatelimitService } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { useQuery } from "../../../data/hooks/useQuery.ts";
import { Dialog } from "../../../design/dialogs/Dialog.tsx";
import { QueryView } from "../../../design/states/QueryView.tsx";
import type { NamespaceNames } from "../readNamespace.ts";
import { OverrideForm } from "./OverrideForm.tsx";
import { draftOf } from "./overrideDraft.ts";
import type { SeenIdentifiers } from "./seenIdentifiers.ts";

export interface EditOverrideProps {
  readonly namespace: NamespaceNames;
  readonly overrides: readonly Override[];
  readonly seen: SeenIdentifiers;
  /** The exact text that the override was set with. */
  readonly identifier: string;
  readonly onClose: () => void;
}

/** Changes limit and duration of an override, which is read with its ETag first. */
export const EditOverride = ({ namespace, overrides, seen, identifier, onClose }: EditOverrideProps): JSX.Element => {
  const override = useQuery(RatelimitService.method.getOverride, { namespace: namespace.id, identifier });
  return (
    <Dialog title="Edit override" onClose={onClose}>
      <QueryView query={override}>
        {({ data }) =>
          data !== undefined && (
            <OverrideForm
              namespace={namespace}
              overrides={overrides}
              seen={seen}
              initial={draftOf(data)}
              edited={{ override: data, etag: override.etag }}
              onDone={onClose}
            />
          )
        }
      </QueryView>
    </Dialog>
  );
};
