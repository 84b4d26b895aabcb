import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { openapiDocument } from "../../docs/build/openapi/openapiDocument.ts";
import { procedureNames } from "../support/edges.ts";
import { createOpenapiJudge, readOpenapi } from "../support/openapi.ts";

const openapi = readOpenapi();
const judge = createOpenapiJudge();

test("is what the interface makes of it, and valid OpenAPI 3.1", async () => {
  expect(openapiDocument()).toEqual(openapi);
  const validator = new Validator();
  expect(await validator.validate(openapiDocument())).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
});

test("describes every procedure, and no other", () => {
  const described = Object.values(openapi.paths).flatMap(({ post }) => post?.operationId ?? []);
  expect(described.sort()).toEqual([...procedureNames].sort());
});

test("its examples are valid", () => {
  const wrong = procedureNames.flatMap((procedure) => {
    const { requestBody, responses } = openapi.paths[`/v2/${procedure}`]?.post ?? {};
    const success = responses?.[200];
    const request = requestBody?.content["application/json"]?.example;
    const response = success && "content" in success ? success.content["application/json"]?.example : undefined;
    return [judge.request(procedure, request), judge.answer(procedure, 200, "application/json", response)].flatMap((said) =>
      said === undefined ? [] : [`${procedure}: ${said}`],
    );
  });
  expect(wrong).toEqual([]);
});
