import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Violation } from "../../src/platform/base/errors.ts";
import { messageShape } from "../../src/platform/codec/compileShape.ts";
import type { Decoded } from "../../src/platform/codec/decoded.ts";
import { decoder } from "../../src/platform/codec/decoder.ts";
import { encoder } from "../../src/platform/codec/encoder.ts";
import { type Finding, prefixFindings } from "../../src/platform/codec/rules/findings.ts";
import { validator } from "../../src/platform/codec/rules/validator.ts";

/** The codec of one message type on /v2, made of the same parts as those of the edges. */
export interface Codec<D extends DescMessage = DescMessage> {
  /** Reads parsed JSON; reports every violation at once, at its place: `body.ratelimits[1].limit` (protocol §§3, 4, 6). */
  decode(json: unknown): Decoded<D>;
  /** Judges a message that came over gRPC or Connect by the same rules, with the same places and texts (grpc §§2, 3). */
  validate(message: MessageShape<D>): readonly Violation[];
  /** Writes the JSON text; int64 may be given as number or bigint. Throws a TypeError for what a field cannot hold. */
  encode(init: MessageInitShape<D>): string;
}

/**
 * Compiles the /v2 codec of a message type from its descriptor. Throws when the type has an
 * annotation, option or kind of field that the codec does not implement.
 */
export const compileCodec = <D extends DescMessage>(desc: D): Codec<D> => {
  const shape = messageShape(desc);
  const decode = decoder(shape, "v2");
  const validate = validator(shape);
  const encode = encoder(shape, "v2");
  return {
    decode: (json) => {
      const violations: Finding[] = [];
      const message = decode(json, violations) as MessageShape<D>;
      if (violations.length > 0) prefixFindings(violations, 0, "body");
      return { message, violations };
    },
    validate: (message) => {
      const violations: Finding[] = [];
      validate(message, violations);
      if (violations.length > 0) prefixFindings(violations, 0, "body");
      return violations;
    },
    encode: (init) => encode(init),
  };
};
