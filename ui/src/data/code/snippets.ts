import { type DescMethodUnary, getOption, type JsonObject, type JsonValue, type Message } from "@bufbuild/protobuf";
import { array_body } from "../../../../gen/latchkey/v2/options_pb.ts";
import { grpcurlJson } from "./grpcurlJson.ts";
import { requestJson, withoutSecrets } from "./requestJson.ts";

/** A call, made or about to be made. */
export interface ShownCall {
  readonly method: DescMethodUnary;
  readonly request: Message;
}

/** The languages that a call is shown in. */
export const languages = ["curl", "grpcurl", "TypeScript"] as const;

export type Language = (typeof languages)[number];

/** `KeysService.CreateKey` → `keys.createKey`. */
export const procedureName = ({ parent, localName }: DescMethodUnary): string => {
  const service = parent.name.replace(/Service$/, "");
  return `${service.charAt(0).toLowerCase()}${service.slice(1)}.${localName}`;
};

/** The body that `/v2` takes for it, secrets masked: an array where the procedure has one (protocol §3). */
export const bodyOf = ({ method, request }: ShownCall): JsonValue => {
  const body = requestJson(method.input, withoutSecrets(method.input, request)) as JsonObject;
  const list = getOption(method, array_body);
  return list === "" ? body : (body[list] ?? []);
};

/** One word for a POSIX shell: it reads nothing in it. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const lines = (parts: readonly string[]): string => parts.join(" \\\n  ");

const curl = (call: ShownCall, origin: string): string =>
  lines([
    `curl -X POST ${origin}/v2/${procedureName(call.method)}`,
    '-H "Authorization: Bearer $ROOT_KEY"',
    '-H "Content-Type: application/json"',
    `-d ${quoted(JSON.stringify(bodyOf(call)))}`,
  ]);

const grpcurl = ({ method, request }: ShownCall, origin: string): string => {
  const { hostname, protocol, port } = new URL(origin);
  const plain = protocol === "http:";
  return lines([
    `grpcurl${plain ? " -plaintext" : ""}`,
    '-H "authorization: Bearer $ROOT_KEY"',
    `-d ${quoted(JSON.stringify(grpcurlJson(method.input, withoutSecrets(method.input, request))))}`,
    `${hostname}:${port || (plain ? "80" : "443")}`,
    `${method.parent.typeName}/${method.name}`,
  ]);
};

const typescript = (call: ShownCall, origin: string): string => {
  const body = JSON.stringify(bodyOf(call), null, 2).replaceAll("\n", "\n  ");
  return `const response = await fetch("${origin}/v2/${procedureName(call.method)}", {
  method: "POST",
  headers: { Authorization: \`Bearer \${process.env.ROOT_KEY}\`, "Content-Type": "application/json" },
  body: JSON.stringify(${body}),
});
const { data } = await response.json();`;
};

const write: Readonly<Record<Language, (call: ShownCall, origin: string) => string>> = { curl, grpcurl, TypeScript: typescript };

/** The call as code that asks for the root key as `$ROOT_KEY`. @param origin `http://localhost:3000`: of the service */
export const snippet = (language: Language, call: ShownCall, origin: string): string => write[language](call, origin);

/** Several calls as a script for a POSIX shell that stops at the first one that fails. */
export const script = (calls: readonly ShownCall[], origin: string): string =>
  ["#!/bin/sh", "set -eu", ...calls.map((call) => curl(call, origin).replace("curl -X", "curl --fail-with-body -X")), ""].join("\n");
