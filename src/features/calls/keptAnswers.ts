import { type DescMethodUnary, getOption } from "@bufbuild/protobuf";
import { no_store } from "../../../gen/latchkey/v2/options_pb.ts";
import { messageShape } from "../../platform/codec/compileShape.ts";
import { decoder } from "../../platform/codec/decoder.ts";
import { jsonWriter } from "../../platform/codec/json/jsonForm.ts";
import type { CallerPath } from "../../platform/fairness/fairShares.ts";
import type { KeptAnswers } from "../idempotency/keyedCall.ts";
import { openAnswer, sealAnswer } from "../idempotency/seed.ts";

/**
 * Keeps answers of one procedure as /v2 JSON without `meta`. Only those that may hold a secret are encrypted: the erasure of a person
 * has to find the others by their text (data §4).
 */
export const createKeptAnswers = (method: DescMethodUnary): ((path: CallerPath) => KeptAnswers) => {
  const write = jsonWriter(method.output, "v2", ["meta"]);
  const decode = decoder(messageShape(method.output), "v2");
  const isSealed = getOption(method, no_store);
  return (path) => ({
    keep: async (answer, seed) => {
      const written = await write(answer, { path });
      const json = typeof written === "string" ? written : Buffer.concat(written).toString();
      return isSealed ? sealAnswer(json, seed) : json;
    },
    recall: async (kept, seed) => {
      const json = isSealed ? openAnswer(kept, seed) : kept;
      const { $typeName: _, meta: __, ...answer } = decode(JSON.parse(json), []) as Record<string, unknown>;
      return answer;
    },
  });
};
