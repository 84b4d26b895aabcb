import type { DescMessage, DescMethodUnary } from "@bufbuild/protobuf";
import { secret } from "../../../gen/latchkey/v2/options_pb.ts";
import type { CallerPath } from "../../domain/fairness/fairShares.ts";
import { followRecipe, type Recipe, type Seed } from "../../idempotency/seed.ts";
import { messageShape } from "../codec/compileShape.ts";
import { decoder } from "../codec/decoder.ts";
import { jsonWriter } from "../codec/json/jsonForm.ts";
import { optionOf } from "../codec/optionOf.ts";

type Json = Record<string, unknown>;

/** Answers of one procedure as they are kept for repeats: /v2 JSON without `meta`, recipes in place of secrets. */
export interface KeptAnswers {
  /** @param recipes of every secret that the answer may hold, by its text. */
  readonly keep: (answer: object, recipes: ReadonlyMap<string, Recipe>, path: CallerPath) => Promise<string>;
  /** The answer again, secrets included. */
  readonly recall: (kept: string, seed: Seed) => Promise<object>;
}

/** JSON paths of the fields that hold a secret. */
const secretPaths = (desc: DescMessage, outer: readonly DescMessage[] = []): (readonly string[])[] =>
  desc.fields.flatMap((field) => {
    if (optionOf(field, secret)) return [[field.jsonName]];
    if (field.message === undefined || outer.includes(field.message)) return [];
    const inner = secretPaths(field.message, [...outer, desc]);
    if (inner.length > 0 && field.fieldKind !== "message") throw new Error(`${field}: a secret in a list cannot be kept for repeats`);
    return inner.map((path) => [field.jsonName, ...path]);
  });

/** Exchanges the value at each path, where there is one. */
const exchange = (json: Json, paths: readonly (readonly string[])[], change: (value: unknown) => unknown): void => {
  for (const path of paths) {
    const parents = path.slice(0, -1);
    const name = path.at(-1) ?? "";
    const holder = parents.reduce<Json | undefined>((object, key) => object?.[key] as Json | undefined, json);
    if (holder?.[name] !== undefined) holder[name] = change(holder[name]);
  }
};

export const createKeptAnswers = ({ output }: DescMethodUnary): KeptAnswers => {
  const write = jsonWriter(output, "v2", ["meta"]);
  const decode = decoder(messageShape(output), "v2");
  const paths = secretPaths(output);
  return {
    keep: async (answer, recipes, path) => {
      const written = await write(answer, { path });
      const text = typeof written === "string" ? written : Buffer.concat(written).toString();
      if (paths.length === 0) return text;
      const json = JSON.parse(text) as Json;
      exchange(json, paths, (secretText) => {
        const recipe = recipes.get(secretText as string);
        if (recipe === undefined) throw new Error(`a secret of ${output.typeName} was not made by the call`);
        return recipe;
      });
      return JSON.stringify(json);
    },
    recall: async (kept, seed) => {
      const json = JSON.parse(kept) as Json;
      exchange(json, paths, (recipe) => followRecipe(recipe as Recipe, seed).reveal());
      const { $typeName: _, meta: __, ...answer } = decode(json, []) as Json;
      return answer;
    },
  };
};
