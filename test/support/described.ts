import type { Answer } from "../../bench/harness/v2Edge.ts";
import { createOpenapiJudge } from "./openapi.ts";

/** Read with the module: reading takes a tenth of a second, which no call should have to wait for. */
const judge = createOpenapiJudge();

/**
 * Throws where a call over `/v2` and its answer are not as `openapi.json` describes them. An accepted request has to be valid
 * there; a refused one may be, as the schema cannot say everything.
 *
 * @param procedure one that is not described is not looked at.
 * @param contentType of the answer; undefined: not looked at.
 */
export const expectDescribed = (procedure: string, sent: unknown, { status, body }: Answer, contentType?: string): void => {
  if (!judge.describes(procedure)) return;
  const wrong = judge.answer(procedure, status, contentType, body) ?? (status === 200 ? judge.request(procedure, sent) : undefined);
  if (wrong !== undefined) {
    throw new Error(
      `${procedure} is not as openapi.json describes it: ${wrong}\n${JSON.stringify({ sent, status, body }).slice(0, 4_000)}`,
    );
  }
};
