import { type ExplainRequest, VerifyKeyRatelimitSchema, type VerifyKeyRequest } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { integerOrDefault } from "../../../platform/rpc/description/fieldDefault.ts";
import { rememberLatest } from "../../../platform/util/rememberLatest.ts";
import { type PermissionQuery, parsePermissionQuery } from "../../permissions/permissionQuery.ts";
import type { RequestedLimit, VerificationRequest } from "../verifiable.ts";
import type { AskedVerification } from "../verify.ts";

/** From the requests of verifyKey and explain to what is asked of a key (verify §2). */

/** Services ask the same few queries again and again. */
const parse = rememberLatest(parsePermissionQuery, { most: 500, longest: 200 });

/** 400 `permissions_query_syntax_error` for a text that is no query. */
const readQuery = (permissions: string | undefined): PermissionQuery | undefined =>
  permissions === undefined ? undefined : parse(permissions);

const NO_LIMITS: readonly RequestedLimit[] = [];

const readLimits = (ratelimits: VerifyKeyRequest["ratelimits"]): readonly RequestedLimit[] =>
  ratelimits.length === 0
    ? NO_LIMITS
    : ratelimits.map(({ name, cost, limit, duration }) => ({
        name,
        cost: integerOrDefault(VerifyKeyRatelimitSchema.field.cost, cost),
        limit: limit === undefined ? undefined : Number(limit),
        duration: duration === undefined ? undefined : Number(duration),
      }));

const readCost = (credits: VerifyKeyRequest["credits"]): number => (credits?.cost === undefined ? 1 : Number(credits.cost));

/** What a request of verifyKey asks for. 400 `permissions_query_syntax_error`. */
export const readVerification = ({
  key,
  keyspaces,
  permissions,
  ratelimits,
  credits,
  migrationId,
  tags,
}: VerifyKeyRequest): AskedVerification => ({
  secret: key,
  keyspaces: keyspaces?.values,
  query: readQuery(permissions),
  limits: readLimits(ratelimits),
  cost: readCost(credits),
  migrationId,
  tags,
});

/** What a request of explain asks about. 400 `permissions_query_syntax_error`. */
export const readExplained = ({ permissions, ratelimits, credits }: ExplainRequest): VerificationRequest => ({
  keyspaces: undefined,
  query: readQuery(permissions),
  limits: readLimits(ratelimits),
  cost: readCost(credits),
});
