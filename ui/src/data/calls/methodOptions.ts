import { type DescField, type DescMethodUnary, getOption } from "@bufbuild/protobuf";
import { changes, permission, secret } from "../../../../gen/latchkey/v2/options_pb.ts";

/** Whether the procedure changes something, so that Idempotency-Key applies. */
export const changesSomething = (method: DescMethodUnary): boolean => getOption(method, changes);

/** Whether the field holds a secret: it is masked, and no code shows it. */
export const isSecret = (field: DescField): boolean => getOption(field, secret);

/** The permission option of a procedure, as it is written in proto/ (permissions §14). */
export const permissionsOf = (method: DescMethodUnary): readonly string[] => getOption(method, permission);
