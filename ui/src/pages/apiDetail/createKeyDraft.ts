import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CreateKeyRequestSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { expiryProblem } from "../../data/drafts/expiryDraft.ts";
import { type LimitDraft, limitsReadable, readLimits } from "../../data/drafts/limitDraft.ts";
import { type RefillDraft, readRefill, refillDraft } from "../../data/drafts/refillDraft.ts";
import { readInteger, readJsonObject, readList, readLocalTime } from "../../data/readInput.ts";

/** A new key as it is typed. */
export interface CreateKeyDraft {
  readonly name: string;
  readonly prefix: string;
  readonly byteLength: string;
  readonly externalId: string;
  /** Value of a `datetime-local` input. */
  readonly expires: string;
  readonly remaining: string;
  /** None: no refill. */
  readonly refill: RefillDraft | undefined;
  readonly ratelimits: readonly LimitDraft[];
  /** Names, one a line. */
  readonly roles: string;
  /** Slugs, one a line. */
  readonly permissions: string;
  /** JSON. */
  readonly meta: string;
  readonly enabled: boolean;
  readonly recoverable: boolean;
}

/** The form when it opens. */
export const emptyDraft: CreateKeyDraft = {
  name: "",
  prefix: "",
  byteLength: "",
  externalId: "",
  expires: "",
  remaining: "",
  refill: undefined,
  ratelimits: [],
  roles: "",
  permissions: "",
  meta: "",
  enabled: true,
  recoverable: false,
};

/** The refill that a person begins with. */
export const firstRefill: RefillDraft = refillDraft(undefined);

/** JSON names of the form's fields. */
export const createKeyFields = [
  "name",
  "prefix",
  "byteLength",
  "externalId",
  "expires",
  "credits.remaining",
  "credits.refill.interval",
  "credits.refill.amount",
  "credits.refill.refillDay",
  "ratelimits",
  "roles",
  "permissions",
  "meta",
  "enabled",
  "recoverable",
];

/** Says what cannot be saved as it is typed, by field. @param now Unix ms */
export const unreadableIn = (
  typed: CreateKeyDraft,
  now: number,
): Partial<Record<"byteLength" | "expires" | "remaining" | "meta" | "ratelimits", string>> => {
  const expiry = typed.expires === "" ? undefined : expiryProblem(typed.expires, now);
  return {
    ...(readInteger(typed.byteLength) === "invalid" ? { byteLength: "Bytes must be a whole number, or empty." } : {}),
    ...(expiry === undefined ? {} : { expires: expiry }),
    ...(readInteger(typed.remaining) === "invalid" ? { remaining: "Credits must be a whole number, or empty." } : {}),
    ...(readJsonObject(typed.meta) === "invalid" ? { meta: "Meta must be a JSON object, or empty." } : {}),
    ...(limitsReadable(typed.ratelimits) ? {} : { ratelimits: "A number of a rate limit is not valid." }),
  };
};

const creditsOf = ({ remaining, refill }: CreateKeyDraft): Pick<MessageInitShape<typeof CreateKeyRequestSchema>, "credits"> => {
  const balance = readInteger(remaining);
  if (typeof balance !== "bigint" && refill === undefined) return {};
  return {
    credits: {
      // A refill without a balance is the service's to refuse.
      ...(typeof balance === "bigint" ? { remaining: { kind: { case: "value", value: balance } } } : {}),
      ...(refill === undefined ? {} : { refill: readRefill(refill) }),
    },
  };
};

/** The call that makes the key: what is empty is left out. */
export const createKeyRequest = (apiId: string, typed: CreateKeyDraft): MessageInitShape<typeof CreateKeyRequestSchema> => {
  const expires = readLocalTime(typed.expires);
  const bytes = readInteger(typed.byteLength);
  const meta = readJsonObject(typed.meta);
  return {
    apiId,
    ...(typed.name === "" ? {} : { name: typed.name }),
    ...(typed.prefix === "" ? {} : { prefix: typed.prefix }),
    ...(typeof bytes === "bigint" ? { byteLength: bytes } : {}),
    ...(typed.externalId === "" ? {} : { externalId: typed.externalId }),
    ...(typeof meta === "object" ? { meta } : {}),
    ...(expires === undefined ? {} : { expires }),
    ...creditsOf(typed),
    ratelimits: readLimits(typed.ratelimits),
    roles: readList(typed.roles),
    permissions: readList(typed.permissions),
    ...(typed.enabled ? {} : { enabled: false }),
    recoverable: typed.recoverable,
  };
};
