import type { VerifyKeyRequestSchema, VerifyKeyResponseSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { allowsAny, insufficientPermissions } from "../../../platform/authorization/authorization.ts";
import type { Procedure } from "../../calls/call.ts";
import { createVerify, type VerifyDeps } from "../verify.ts";
import { showVerification } from "./verificationAnswer.ts";
import { readVerification } from "./verificationRequest.ts";

/**
 * Decides whether a key may be used now, and spends its rate limits and credits in the same step (verify §6). 400 for a
 * malformed query, 403 for a caller that may verify keys of no API, 412 for a limit that nothing defines.
 */
export const verifyKey = (deps: VerifyDeps): Procedure<typeof VerifyKeyRequestSchema, typeof VerifyKeyResponseSchema> => {
  const verify = createVerify(deps, showVerification);
  return (request, call) => {
    const asked = readVerification(request);
    if (!allowsAny(call.caller, "api.verify_key")) throw insufficientPermissions(call.caller, [["api.verify_key", "*"]]);
    return verify(asked, call);
  };
};
