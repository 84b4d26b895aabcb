import type { MessageInitShape } from "@bufbuild/protobuf";
import type { SessionSchema } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import type { LiveSession } from "../../../console/visit.ts";
import { allPermissions } from "../../../domain/authorization.ts";
import { idleExpiry, isElevated, type SessionBounds } from "../../../domain/console/sessionTimes.ts";

/** A session as its page has to know it (console §2.1). */
export const showSession = (
  { session, rootKey }: LiveSession,
  bounds: SessionBounds,
  now: number,
): MessageInitShape<typeof SessionSchema> => ({
  idleExpiresAt: BigInt(idleExpiry(session, bounds)),
  expiresAt: BigInt(session.expiresAt),
  ...(session.elevatedUntil !== undefined && isElevated(session, now) ? { elevatedUntil: BigInt(session.elevatedUntil) } : {}),
  permissions: [...(rootKey.permissions ?? allPermissions)],
});
