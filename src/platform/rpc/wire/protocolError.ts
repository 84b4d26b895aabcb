import type { Code } from "@connectrpc/connect";
import { type Reason, ServiceError, type Violation } from "../../base/errors.ts";

/** A request that is wrong in a way for which gRPC itself names the code, whatever that of the reason is. */
export class ProtocolError extends ServiceError {
  readonly code: Code;
  constructor(code: Code, reason: Reason, detail: string, violations: readonly Violation[]) {
    super(reason, detail, { violations });
    this.code = code;
  }
}
