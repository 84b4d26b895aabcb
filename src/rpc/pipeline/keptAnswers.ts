import { type DescMethodUnary, getOption } from "@bufbuild/protobuf";
import { no_store } from "../../../gen/latchkey/v2/options_pb.ts";
import type { CallerPath } from "../../domain/fairness/fairShares.ts";
import type { KeptAnswers } from "../../idempotency/keyedCall.ts";
import { openAnswer, sealAnswer } from "../../idempotency/seed.ts";
import { jsonReader, jsonWriter, type Reader } from "../codec/json/jsonForm.ts";
import type { Slices } from "./slices.ts";

/** Answers are kept and recalled to the end, and count as nothing: what is kept is bounded. */
const toTheEnd = (path: CallerPath): Reader => ({ path, signal: undefined, charge: () => undefined });

/**
 * Keeps answers of one procedure as /v2 JSON without `meta`. Only those that may hold a secret are encrypted: the erasure of a person
 * has to find the others by their text (data §4).
 */
export const createKeptAnswers = (method: DescMethodUnary, slices: Slices): ((path: CallerPath) => KeptAnswers) => {
  const write = jsonWriter(method.output, "v2", slices, ["meta"]);
  const read = jsonReader(method.output, "v2", slices);
  const isSealed = getOption(method, no_store);
  return (path) => ({
    keep: async (answer, seed) => {
      const written = await write(answer, toTheEnd(path));
      const json = typeof written === "string" ? written : Buffer.concat(written).toString();
      return isSealed ? sealAnswer(json, seed) : json;
    },
    recall: async (kept, seed) => {
      const json = isSealed ? openAnswer(kept, seed) : kept;
      const { message } = await read(Buffer.from(json), toTheEnd(path));
      const { $typeName: _, meta: __, ...answer } = message as unknown as Record<string, unknown>;
      return answer;
    },
  });
};
