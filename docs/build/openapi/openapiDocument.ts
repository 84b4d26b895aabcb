import type { DescMessage } from "@bufbuild/protobuf";
import { version } from "../../../src/platform/config/version.ts";
import { procedures as allProcedures, type ProcedureDoc } from "../descriptors.ts";
import { createErrorResponses, errorSchemas } from "./errorResponses.ts";
import { createExamples } from "./examples.ts";
import { headerRef, headers, parameterRef, parameters } from "./headers.ts";
import type { JsonSchema } from "./jsonSchema.ts";
import { createMessageSchemas, textOn } from "./messageSchemas.ts";

const json = "application/json";

const description = `Every procedure is a POST with a JSON body. Root keys go into the header \`Authorization: Bearer <ROOT_KEY>\`.

- Fields that the service does not know are refused, except where \`additionalProperties\` is \`true\`. Answers may gain fields.
- Leaving a field out and sending \`null\` differ: \`null\` removes a value, where the schema allows it. Answers leave out what has no value.
- Integers are JSON numbers of at most 2^53-1. Points in time are Unix milliseconds in UTC, durations are milliseconds.
- Lengths of texts count Unicode code points.
- Tell errors apart by the end of \`error.type\`. A refused key and a denied limit are ordinary answers.
- A request body has at most 10,485,760 bytes, unless the operator has set another limit.`;

/** Each message once that is part of the given ones; what is part of those in `others` is not looked for. */
const within = (
  messages: readonly DescMessage[],
  others: ReadonlySet<DescMessage>,
  found: Set<DescMessage> = new Set(),
): ReadonlySet<DescMessage> => {
  for (const desc of messages) {
    if (found.has(desc) || others.has(desc) || desc.typeName.startsWith("google.")) continue;
    found.add(desc);
    const parts = desc.fields.flatMap(({ message }) => message ?? []);
    within(parts, others, found);
  }
  return found;
};

/** `Reads an API. More.` → its first sentence without the full stop, and the whole. */
const summaryOf = (text: string): string => /^(.*?)\.(?: |$)/.exec(text)?.[1] ?? text;

const permissionText = (permissions: readonly string[]): string =>
  ["Permissions:\n", ...permissions.map((text) => `- ${text.replace(/\b[a-z_]+\.(?:\*|\{[\w.]+\})\.[a-z_]+/g, "`$&`")}`)].join("\n");

const successHeaders = (procedure: ProcedureDoc): object => ({
  ...(procedure.etag !== "" && headerRef("ETag")),
  ...(procedure.noStore && headerRef("Cache-Control")),
  ...(procedure.changes && headerRef("Idempotency-Replayed")),
  ...headerRef("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"),
});

/** The description of `/v2` in OpenAPI 3.1, without the addresses at which it is served. */
export const openapiDocument = (): Record<string, unknown> => {
  const procedures = allProcedures.filter(({ namespace }) => namespace !== "testing");
  const inputs = new Set(procedures.map(({ method }) => method.input));
  const sent = within([...inputs], new Set());
  const received = within(
    procedures.map(({ method }) => method.output),
    inputs,
  );
  const schemas = createMessageSchemas(inputs, sent.intersection(received));
  const errors = createErrorResponses();
  const examples = createExamples(() => ({ ...schemas.components(), ...errorSchemas }));

  const operation = (procedure: ProcedureDoc): object => {
    const { name, namespace, method, arrayBody, permissions } = procedure;
    const text = textOn(`${method.parent.typeName}.${method.name}`, method.input.fields);
    const request: JsonSchema = arrayBody === "" ? schemas.schemaOf(method.input, "request") : schemas.listOf(method.input, arrayBody);
    const response = schemas.schemaOf(method.output, "response");
    const given = [
      ...(procedure.changes ? [parameterRef("Idempotency-Key")] : []),
      ...(procedure.ifMatch ? [parameterRef("If-Match")] : []),
    ];
    return {
      operationId: name,
      tags: [namespace],
      summary: summaryOf(text),
      description: `${text}\n\n${permissionText(permissions)}`,
      ...(given.length > 0 && { parameters: given }),
      requestBody: { required: true, content: { [json]: { schema: request, example: examples.request(name, request) } } },
      responses: {
        200: {
          description: "Success.",
          headers: successHeaders(procedure),
          content: { [json]: { schema: response, example: examples.response(response) } },
        },
        ...errors.responsesOf(procedure),
      },
    };
  };

  const paths = {
    ...Object.fromEntries(procedures.map((procedure) => [`/v2/${procedure.name}`, { post: operation(procedure) }])),
    "/v2/liveness": { get: liveness },
  };
  const tags = [...new Map(procedures.map(({ namespace, method }) => [namespace, method.parent])).entries()].map(([name, service]) => ({
    name,
    description: textOn(service.typeName),
  }));
  return {
    openapi: "3.1.0",
    info: { title: "Latchkey", version, description, license: { name: "Apache License 2.0", identifier: "Apache-2.0" } },
    servers: [{ url: "/" }],
    tags: [...tags, { name: "health", description: "Whether the service runs." }],
    security: [{ rootKey: [] }],
    paths,
    components: {
      securitySchemes: { rootKey: { type: "http", scheme: "bearer", description: "A root key: `lkr_…`." } },
      parameters,
      headers,
      responses: errors.components(),
      schemas: { ...schemas.components(), ...errorSchemas },
    },
  };
};

const liveness = {
  operationId: "liveness",
  tags: ["health"],
  summary: "Answers while the process runs, without looking at the store",
  security: [],
  responses: {
    200: {
      description: "The process runs.",
      content: {
        [json]: {
          schema: {
            type: "object",
            properties: {
              meta: { $ref: "#/components/schemas/Meta" },
              data: { type: "object", properties: { message: { type: "string", const: "OK" } }, required: ["message"] },
            },
            required: ["meta", "data"],
          },
        },
      },
    },
  },
};
