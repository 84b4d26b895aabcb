import { type DescMessage, type DescMethodUnary, getOption, type MessageInitShape } from "@bufbuild/protobuf";
import { secret } from "../../../gen/latchkey/v2/options_pb.ts";
import { compileCodec } from "../codec/compileCodec.ts";
import { followRecipe, type Recipe, type Seed } from "./idempotentCall.ts";

type Json = Record<string, unknown>;

/** Answers of one procedure as they are kept for repeats: /v2 JSON without `meta`, recipes in place of secrets. */
export interface KeptAnswers {
  /** @param recipes of every secret that the answer may hold, by its text. */
  readonly keep: (answer: object, recipes: ReadonlyMap<string, Recipe>) => string;
  /** The answer again, secrets included. */
  readonly recall: (kept: string, seed: Seed) => object;
}

/** JSON paths of the fields that hold a secret. */
const secretPaths = (desc: DescMessage, outer: readonly DescMessage[] = []): (readonly string[])[] =>
  desc.fields.flatMap((field) => {
    if (getOption(field, secret)) return [[field.jsonName]];
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
  const codec = compileCodec(output);
  const paths = secretPaths(output);
  return {
    keep: (answer, recipes) => {
      const { meta: _, ...json } = JSON.parse(codec.encode(answer as MessageInitShape<DescMessage>)) as Json;
      exchange(json, paths, (text) => {
        const recipe = recipes.get(text as string);
        if (recipe === undefined) throw new Error(`a secret of ${output.typeName} was not made by the call`);
        return recipe;
      });
      return JSON.stringify(json);
    },
    recall: (kept, seed) => {
      const json = JSON.parse(kept) as Json;
      exchange(json, paths, (recipe) => followRecipe(recipe as Recipe, seed).reveal());
      const { $typeName: _, meta: __, ...answer } = codec.decode(json).message as unknown as Json;
      return answer;
    },
  };
};
