import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ExplainRequestSchema } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { readInteger, readList, readLocalTime } from "../../../data/readInput.ts";

/** The question about a verification, as typed and as in the URL, by the JSON names of the contract. */
export interface ExplainQuery {
  readonly permissions: string;
  readonly "credits.cost": string;
  /** Names, with commas. */
  readonly ratelimits: string;
  readonly remoteIp: string;
  /** Value of a `datetime-local` input. */
  readonly at: string;
}

/** Its parameters in the URL. */
export const explainParams = ["permissions", "credits.cost", "ratelimits", "remoteIp", "at"] as const;

/** Reads the URL: a link says what was asked, from a denial in the log too. */
export const readExplainQuery = (params: URLSearchParams): ExplainQuery => ({
  permissions: params.get("permissions") ?? "",
  "credits.cost": params.get("credits.cost") ?? "",
  ratelimits: params.get("ratelimits") ?? "",
  remoteIp: params.get("remoteIp") ?? "",
  at: params.get("at") ?? "",
});

/** The call that asks it; what is empty is left to the service. */
export const explainRequest = (keyId: string, query: ExplainQuery): MessageInitShape<typeof ExplainRequestSchema> => {
  const cost = readInteger(query["credits.cost"]);
  const at = readLocalTime(query.at);
  return {
    keyId,
    ...(query.permissions.trim() === "" ? {} : { permissions: query.permissions.trim() }),
    ...(typeof cost === "bigint" ? { credits: { cost } } : {}),
    ratelimits: readList(query.ratelimits).map((name) => ({ name })),
    ...(query.remoteIp.trim() === "" ? {} : { remoteIp: query.remoteIp.trim() }),
    ...(at === undefined ? {} : { at }),
  };
};
