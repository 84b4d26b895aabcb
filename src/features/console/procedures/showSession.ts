import type { MessageInitShape } from "@bufbuild/protobuf";
import type { SessionPersonSchema, SessionSchema } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import type { Person } from "../../../platform/base/person.ts";
import type { LiveSession } from "../../../platform/rpc/visit.ts";
import { idleExpiry, isElevated, type SessionBounds } from "../sessionTimes.ts";

const showPerson = ({ issuer, subject, name }: Person): MessageInitShape<typeof SessionPersonSchema> => ({
  issuer,
  subject,
  ...(name === undefined ? {} : { name }),
});

/** A session as its page has to know it (console §2.1). */
export const showSession = (
  { session, holder }: LiveSession,
  bounds: SessionBounds,
  now: number,
): MessageInitShape<typeof SessionSchema> => ({
  idleExpiresAt: BigInt(idleExpiry(session, bounds)),
  expiresAt: BigInt(session.expiresAt),
  ...(session.elevatedUntil !== undefined && isElevated(session, now) ? { elevatedUntil: BigInt(session.elevatedUntil) } : {}),
  permissions: [...holder.permissions],
  ...(session.person === undefined ? {} : { person: showPerson(session.person) }),
});
