import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Violation } from "../base/errors.ts";

/** A message and what is wrong with it; the message means something only when nothing is. */
export interface Decoded<D extends DescMessage> {
  readonly message: MessageShape<D>;
  readonly violations: readonly Violation[];
}
