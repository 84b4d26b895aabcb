import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { isObject } from "../../src/platform/util/isObject.ts";

/** The description of `/v2`, as far as tests look into it. */
export interface Openapi {
  readonly paths: Readonly<Record<string, { readonly post?: Operation }>>;
  readonly components: { readonly responses: Readonly<Record<string, Response>>; readonly schemas: Readonly<Record<string, object>> };
}

interface Content {
  readonly schema: object;
  readonly example?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly requestBody: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>;
}

interface Response {
  readonly content: Readonly<Record<string, Content>>;
}

export const readOpenapi = (): Openapi => JSON.parse(readFileSync(join(import.meta.dirname, "../../docs/openapi.json"), "utf8")) as Openapi;

/** Answers may gain fields, for clients; for tests each that they have is described. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isObject(schema)) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, name === "example" ? value : closed(value)]));
  return schema.type === "object" && "properties" in schema && !("additionalProperties" in schema)
    ? { ...inner, additionalProperties: false }
    : inner;
};

/** Returns what is wrong with a value; undefined: nothing. */
type Judge = (value: unknown) => string | undefined;

/** Judges requests and answers by the description. */
export interface OpenapiJudge {
  readonly describes: (procedure: string) => boolean;
  readonly request: (procedure: string, body: unknown) => string | undefined;
  /** @param contentType undefined: not looked at. */
  readonly answer: (procedure: string, status: number, contentType: string | undefined, body: unknown) => string | undefined;
}

const address = "openapi.json";

/** Compiles what it is asked for, once. */
export const createOpenapiJudge = (): OpenapiJudge => {
  const openapi = readOpenapi();
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false, code: { optimize: false } });
  ajv.addSchema({ $id: address, ...(closed(openapi) as object) });
  const judges = new Map<string, Judge>();

  /** @param path of names from the root of the document to a schema. */
  const judgeAt = (...path: readonly string[]): Judge => {
    const pointer = path.map((name) => `/${encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("");
    const known = judges.get(pointer);
    if (known !== undefined) return known;
    const validate: ValidateFunction = ajv.compile({ $ref: `${address}#${pointer}` });
    const judge: Judge = (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors, { dataVar: "body" }));
    judges.set(pointer, judge);
    return judge;
  };

  const operationOf = (procedure: string): Operation => {
    const operation = openapi.paths[`/v2/${procedure}`]?.post;
    if (operation === undefined) throw new Error(`openapi.json does not describe ${procedure}`);
    return operation;
  };

  return {
    describes: (procedure) => `/v2/${procedure}` in openapi.paths,
    request: (procedure, body) => {
      operationOf(procedure);
      return judgeAt("paths", `/v2/${procedure}`, "post", "requestBody", "content", "application/json", "schema")(body);
    },
    answer: (procedure, status, contentType, body) => {
      const response = operationOf(procedure).responses[status];
      if (response === undefined) return `status ${status} is not described`;
      const name = "$ref" in response ? response.$ref.slice(response.$ref.lastIndexOf("/") + 1) : undefined;
      const place =
        name === undefined ? ["paths", `/v2/${procedure}`, "post", "responses", `${status}`] : ["components", "responses", name];
      const { content } = name === undefined ? (response as Response) : (openapi.components.responses[name] as Response);
      const mediaType = contentType ?? Object.keys(content)[0] ?? "";
      if (!(mediaType in content)) return `status ${status} is not described as ${mediaType}`;
      return judgeAt(...place, "content", mediaType, "schema")(body);
    },
  };
};
