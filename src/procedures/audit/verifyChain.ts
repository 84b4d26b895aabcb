import type { VerifyChainRequestSchema, VerifyChainResponseSchema } from "../../../gen/latchkey/v2/audit_pb.ts";
import { checkChain } from "../../audit/verifyAudit.ts";
import { requirePermissions } from "../../domain/authorization.ts";
import type { AuditLogRepository } from "../../storage/auditLog.ts";
import type { Procedure } from "../call.ts";
import { showSequence } from "./showSequence.ts";

const DEFAULT_LIMIT = 10_000;

/** Checks up to `limit` entries of the chain from one on, and names the first thing that is wrong with them (management §4, §8). */
export const verifyChain =
  ({ auditLog }: { readonly auditLog: AuditLogRepository }): Procedure<typeof VerifyChainRequestSchema, typeof VerifyChainResponseSchema> =>
  async ({ fromSequence, limit }, call) => {
    requirePermissions(call.caller, ["audit.read_audit_log", "*"]);
    const from = fromSequence === undefined ? undefined : Number(fromSequence);
    const { checked, to, head, broken } = await checkChain(auditLog, { from, limit: Number(limit ?? DEFAULT_LIMIT) }, call);
    return {
      data: {
        checked: BigInt(checked),
        fromSequence: fromSequence ?? 1n,
        toSequence: showSequence(to),
        intact: broken === undefined,
        head: { sequence: showSequence(head.sequence), hash: head.hash },
        ...(broken === undefined ? {} : { broken: { ...broken, sequence: showSequence(broken.sequence) } }),
      },
    };
  };
