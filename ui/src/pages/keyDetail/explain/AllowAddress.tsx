import type { JSX } from "preact";
import { ApisService } from "../../../../../gen/latchkey/v2/apis_pb.ts";
import type { AllowingUpdateApi } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { call } from "../../../data/calls/call.ts";
import { useLoad } from "../../../data/hooks/useLoad.ts";
import { useMutation } from "../../../data/hooks/useMutation.ts";
import { ReviewChanges } from "../../../design/dialogs/ReviewChanges.tsx";
import { nullable } from "../../../design/forms/fieldChange.ts";
import { announce } from "../../../design/states/announcements.ts";

const { getApi, listApis, updateApi } = ApisService.method;

export interface AllowAddressProps {
  /** As the service suggests it. */
  readonly change: AllowingUpdateApi;
  readonly onClose: () => void;
}

/** Adds an address to the list of the key's API: the change is reviewed, and never overwrites another editor's. */
export const AllowAddress = ({ change: { apiId, ipAllowlist }, onClose }: AllowAddressProps): JSX.Element => {
  const update = useMutation(updateApi);
  // The list alone has the addresses; the ETag is read first, so that a change in between is refused.
  const before = useLoad(`addresses of ${apiId}`, async (options) => {
    const { etag } = await call(getApi, { apiId }, options);
    const { message } = await call(listApis, { search: apiId, limit: 100n }, options);
    return { message: message.data.find(({ id }) => id === apiId)?.ipAllowlist ?? [], etag };
  });
  const list = nullable({ kind: "set", value: { values: [...ipAllowlist] } });
  const request = { apiId, ...(list === undefined ? {} : { ipAllowlist: list }) };
  const save = async (): Promise<void> => {
    if (before.data === undefined || (await update.run(request, before.etag)) === undefined) return;
    announce("Saved.");
    onClose();
  };
  return (
    <ReviewChanges
      method={updateApi}
      request={request}
      changes={[{ field: "ipAllowlist", before: before.data?.join(", "), after: ipAllowlist.join(", ") }]}
      pending={update.pending || before.loading}
      error={update.error ?? before.error}
      action="Save changes"
      onConfirm={() => void save()}
      onClose={onClose}
    />
  );
};
