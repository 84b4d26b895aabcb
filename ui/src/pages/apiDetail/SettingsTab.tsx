import type { JSX } from "preact";
import { type Api, ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { type Answer, type CallOptions, call } from "../../data/calls/call.ts";
import { CallError } from "../../data/calls/callError.ts";
import { useLoad } from "../../data/hooks/useLoad.ts";
import { QueryView } from "../../design/states/QueryView.tsx";
import { DeleteApi } from "./DeleteApi.tsx";
import { SettingsForm } from "./SettingsForm.tsx";

const { getApi, listApis } = ApisService.method;

/**
 * The settings with the ETag of the API. getApi has id and name only; the list has the settings, and a search for an id finds it.
 * The ETag is read first, so that a change in between is refused, never overwritten.
 */
const readSettings = async (apiId: string, options: CallOptions): Promise<Answer<Api>> => {
  const { etag } = await call(getApi, { apiId }, options);
  const { message } = await call(listApis, { search: apiId, limit: 100n }, options);
  const api = message.data.find(({ id }) => id === apiId);
  if (api === undefined) throw new CallError("notFound", `The API ${apiId} does not exist.`, { title: "Not Found" });
  return { message: api, etag };
};

/** Name, delete protection and IP list of an API, and its end. */
export const SettingsTab = ({ apiId }: { readonly apiId: string }): JSX.Element => {
  const settings = useLoad(`settings of ${apiId}`, (options) => readSettings(apiId, options));
  return (
    <QueryView query={settings}>
      {(api) => (
        <>
          <SettingsForm api={api} etag={settings.etag} reload={settings.reload} />
          <DeleteApi api={api} etag={settings.etag} />
        </>
      )}
    </QueryView>
  );
};
