import { messageShape } from "../../src/platform/codec/compileShape.ts";
import { decoder } from "../../src/platform/codec/decoder.ts";
import type { Finding } from "../../src/platform/codec/rules/findings.ts";
import { grpcurlJson } from "../../ui/src/data/code/grpcurlJson.ts";
import type { ProcedureDoc } from "./descriptors.ts";
import { examples } from "./examples.ts";

/** The body of the procedure's example on `/v2`. Throws when there is none. */
const exampleBody = ({ name }: ProcedureDoc): unknown => {
  const example = examples.find(({ procedure }) => procedure === name);
  if (example === undefined) throw new Error(`docs/build/examples.ts has no example of ${name}`);
  return example.body;
};

/** One word for a POSIX shell: it reads nothing in it. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The example as the message that gRPC takes, in Protobuf's JSON. Throws when it is not valid. */
const grpcBody = (procedure: ProcedureDoc): string => {
  const { method, name } = procedure;
  const body = exampleBody(procedure);
  const findings: Finding[] = [];
  const message = decoder(messageShape(method.input), "v2")(body, findings);
  if (findings.length > 0) throw new Error(`the example of ${name} is not valid: ${JSON.stringify(findings)}`);
  return JSON.stringify(grpcurlJson(method.input, message as never));
};

const lines = (parts: readonly string[]): string => parts.join(" \\\n  ");

/** The example for a shell, with the root key in `$ROOT_KEY`. */
export const curl = (procedure: ProcedureDoc): string =>
  lines([
    `curl -w '\\n' http://localhost:3000/v2/${procedure.name}`,
    '-H "Authorization: Bearer $ROOT_KEY"',
    "-H 'Content-Type: application/json'",
    `-d ${quoted(JSON.stringify(exampleBody(procedure)))}`,
  ]);

/** The same over gRPC. */
export const grpcurl = (procedure: ProcedureDoc): string =>
  lines([
    "grpcurl -plaintext",
    '-H "authorization: Bearer $ROOT_KEY"',
    `-d ${quoted(grpcBody(procedure))}`,
    `localhost:3000 ${procedure.method.parent.typeName}/${procedure.method.name}`,
  ]);

/** A value as TypeScript writes it, two blanks deep. */
const literal = (value: unknown): string =>
  JSON.stringify(value, null, 2)
    .replaceAll(/^( *)"([a-zA-Z]\w*)":/gm, "$1$2:")
    .replaceAll("\n", "\n  ");

/** The same in TypeScript, without a library. */
export const typescript = (procedure: ProcedureDoc): string => `const response = await fetch("http://localhost:3000/v2/${procedure.name}", {
  method: "POST",
  headers: { Authorization: \`Bearer \${process.env.ROOT_KEY}\`, "Content-Type": "application/json" },
  body: JSON.stringify(${literal(exampleBody(procedure))}),
});
const { data, error } = await response.json();`;
