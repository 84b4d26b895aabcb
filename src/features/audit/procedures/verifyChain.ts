import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type DroppedEntriesSchema,
  VerifyChainRequestSchema,
  type VerifyChainResponseSchema,
} from "../../../../gen/latchkey/v2/audit_pb.ts";
import { requirePermissions } from "../../../platform/authorization/authorization.ts";
import { integerOrDefault } from "../../../platform/rpc/description/fieldDefault.ts";
import type { AuditStub } from "../../../platform/storage/port/auditEvents.ts";
import { showRfc3339 } from "../../../platform/util/rfc3339.ts";
import type { Procedure } from "../../calls/call.ts";
import type { AuditLogRepository } from "../auditLogRepository.ts";
import { checkChain } from "../checkChain.ts";
import { showSequence } from "../showSequence.ts";

const showStub = ({ sequence, hash, droppedAt }: AuditStub): MessageInitShape<typeof DroppedEntriesSchema> => ({
  sequence: showSequence(sequence),
  hash,
  time: showRfc3339(droppedAt),
});

/** Checks up to `limit` entries of the chain from one on, and names the first thing that is wrong with them (management §4, §8). */
export const verifyChain =
  ({ auditLog }: { readonly auditLog: AuditLogRepository }): Procedure<typeof VerifyChainRequestSchema, typeof VerifyChainResponseSchema> =>
  async ({ fromSequence, limit }, call) => {
    requirePermissions(call.caller, ["audit.read_audit_log", "*"]);
    const from = fromSequence === undefined ? undefined : Number(fromSequence);
    const {
      checked,
      from: first,
      to,
      head,
      broken,
      dropped,
      erased,
    } = await checkChain(auditLog, { from, limit: integerOrDefault(VerifyChainRequestSchema.field.limit, limit) }, call);
    return {
      data: {
        checked: BigInt(checked),
        fromSequence: BigInt(first),
        toSequence: showSequence(to),
        intact: broken === undefined,
        head: { sequence: showSequence(head.sequence), hash: head.hash },
        ...(dropped === undefined ? {} : { dropped: showStub(dropped) }),
        ...(erased.entries === 0 ? {} : { erased: { entries: BigInt(erased.entries), unhashed: BigInt(erased.unhashed) } }),
        ...(broken === undefined ? {} : { broken: { ...broken, sequence: showSequence(broken.sequence) } }),
      },
    };
  };
