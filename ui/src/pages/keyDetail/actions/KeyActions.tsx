import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { KeysService } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { missingReason } from "../../../data/access/missingReason.ts";
import { useMutation } from "../../../data/hooks/useMutation.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { lazyPart } from "../../../design/states/lazyPart.tsx";
import { navigate, setQueryParams } from "../../../router/address.ts";
import { usePageCommands } from "../../../router/pageCommands.ts";
import type { KeyTabProps } from "../useKey.ts";

const { updateKey, rerollKey, deleteKey, getKey } = KeysService.method;

const ReviewKeyChange = lazyPart(async () => (await import("./ReviewKeyChange.tsx")).ReviewKeyChange, 0);
const RerollKey = lazyPart(async () => (await import("./RerollKey.tsx")).RerollKey, 0);
const DecryptKey = lazyPart(async () => (await import("./DecryptKey.tsx")).DecryptKey, 0);
const DeleteKey = lazyPart(async () => (await import("./DeleteKey.tsx")).DeleteKey, 0);

/** The actions on a key as a whole. */
export const KeyActions = (props: KeyTabProps): JSX.Element => {
  const { stored, api, etag } = props;
  const [open, setOpen] = useState<"switch" | "reroll" | "decrypt" | "delete">();
  // The version that the person saw when the dialog opened.
  const [seen, setSeen] = useState({ stored, etag });
  const update = useMutation(updateKey);
  const close = (): void => setOpen(undefined);
  const show = (which: typeof open) => (): void => {
    setSeen({ stored, etag });
    setOpen(which);
  };
  const reason = (method: DescMethodUnary): string | undefined => missingReason(method, api === undefined ? {} : { api_id: api.id });
  const verb = seen.stored.enabled ? "Disable" : "Enable";
  const edit = (): void => setQueryParams({ tab: "settings" }, { replace: false });
  usePageCommands([
    ...(reason(updateKey) === undefined
      ? [
          { label: "Edit this key", run: edit },
          { label: `${stored.enabled ? "Disable" : "Enable"} this key`, run: show("switch") },
        ]
      : []),
    ...(reason(rerollKey) === undefined ? [{ label: "Reroll this key", run: show("reroll") }] : []),
  ]);
  return (
    <div class="actions">
      <Button onClick={edit} disabledBecause={reason(updateKey)}>
        Edit
      </Button>
      <Button onClick={show("switch")} disabledBecause={reason(updateKey)}>
        {stored.enabled ? "Disable" : "Enable"}
      </Button>
      <Button onClick={show("reroll")} disabledBecause={reason(rerollKey)}>
        Reroll
      </Button>
      <Button onClick={show("decrypt")} disabledBecause={reason(getKey)}>
        Decrypt
      </Button>
      <Button kind="danger" onClick={show("delete")} disabledBecause={reason(deleteKey)}>
        Delete
      </Button>
      {open === "switch" && (
        <ReviewKeyChange
          {...props}
          seen={seen}
          direct={undefined}
          update={update}
          request={{ keyId: stored.keyId, enabled: !seen.stored.enabled }}
          action={verb}
          done={seen.stored.enabled ? "Disabled." : "Enabled."}
          onDone={close}
          onClose={close}
        />
      )}
      {open === "reroll" && <RerollKey stored={stored} etag={etag} onClose={close} />}
      {open === "decrypt" && <DecryptKey keyId={stored.keyId} onClose={close} />}
      {open === "delete" && (
        <DeleteKey
          stored={stored}
          etag={seen.etag}
          onClose={close}
          onDeleted={() => navigate(api === undefined ? "/ui/find" : `/ui/apis/${encodeURIComponent(api.id)}`)}
        />
      )}
    </div>
  );
};
