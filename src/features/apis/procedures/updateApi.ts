import type { NullableIpAllowlist, UpdateApiRequestSchema, UpdateApiResponseSchema } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { invalidInput, type Violation } from "../../../platform/base/errors.ts";
import { MOST_ENTRIES, parseNetworks } from "../../../platform/base/ipAllowlist.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { change } from "../../calls/mutations.ts";
import type { ApisRepository } from "../apisRepository.ts";
import { changeApi } from "../changeApi.ts";
import { apiNotFound, findApi } from "../findApi.ts";

type UpdateApi = Procedure<typeof UpdateApiRequestSchema, typeof UpdateApiResponseSchema>;

const message = "is neither an IP address nor a network";

const violationsOf = (malformed: readonly number[]): readonly Violation[] =>
  malformed.map((i) => ({
    location: `body.ipAllowlist[${i}]`,
    message,
    fix: "Write an address or a network of IPv4 or IPv6: 192.0.2.1, 10.0.0.0/8, 2001:db8::/32.",
  }));

/** Null lifts the restriction, undefined keeps what is there. 400 `invalid_input` names every entry that is neither address nor network. */
const readIpAllowlist = (list: NullableIpAllowlist | undefined): readonly string[] | null | undefined => {
  if (list === undefined) return undefined;
  if (list.kind.case !== "value") return null;
  const { entries, malformed } = parseNetworks(list.kind.value.values);
  if (malformed.length === 0) return entries;
  const which = malformed.length === 1 ? "an entry" : `${malformed.length} entries`;
  throw invalidInput(`ipAllowlist: ${which} that ${message}.`, violationsOf(malformed));
};

/** Of a list that is too long, which is wrong already, no entry is looked at. */
const judge: NonNullable<UpdateApi["judge"]> = ({ ipAllowlist }) => {
  if (ipAllowlist?.kind.case !== "value") return [];
  const { values } = ipAllowlist.kind.value;
  return values.length > MOST_ENTRIES ? [] : violationsOf(parseNetworks(values).malformed);
};

/** Changes an API: what is given; verifications know at once (management §2). 403 before 404. */
export const updateApi = ({ apis }: { readonly apis: ApisRepository }): UpdateApi => {
  const update: UpdateApi = async ({ apiId, name, deleteProtection, ipAllowlist: list }, call) => {
    const ipAllowlist = readIpAllowlist(list);
    requirePermissions(call.caller, ["api.update_api", apiId]);
    const found = await findApi(apis, apiId, call);
    const decide = changeApi({ name, deleteProtection, ipAllowlist }, auditSource(call));
    const gone = () => apiNotFound(apiId);
    return change(call, { collection: "apis", modify: apis.modify, found, gone, answer: { data: {} } }, decide);
  };
  return Object.assign(update, { judge });
};
