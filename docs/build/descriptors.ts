import { type DescField, type DescMessage, type DescMethodUnary, getOption } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { message as messageRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { comments } from "../../gen/latchkey/v2/comments.ts";
import {
  always_present,
  array_body,
  changes,
  etag,
  if_match,
  ignore_unknown,
  json_names,
  max_json_bytes,
  max_properties,
  no_store,
  permission,
} from "../../gen/latchkey/v2/options_pb.ts";
import type { Reason } from "../../src/platform/base/errors.ts";
import { integerRules, listRules, rulesOfField, textRules } from "../../src/platform/codec/rules/annotations.ts";
import { type DescribedField, describeField, unwrapField } from "../../src/platform/rpc/description/describeField.ts";
import { unaryMethods } from "../../src/platform/rpc/edges/unaryMethods.ts";
import { procedureName } from "../../src/platform/rpc/procedureName.ts";
import { testableServices } from "../../src/service/services.ts";
import { procedureErrors } from "./procedureErrors.ts";

/** Bounds as the rules of the interface give them; absent where there is none. */
export interface Bounds {
  /** Least length of a text in code points, least value of an integer. */
  readonly min?: number;
  /** Greatest length of a text in code points, greatest value of an integer. */
  readonly max?: number;
  /** What the whole text matches. */
  readonly pattern?: string;
  /** Of a list: fewest and most items. The other bounds are those of each item. */
  readonly minItems?: number;
  readonly maxItems?: number;
  /** Of an object: greatest size of its compact JSON in UTF-8, in bytes, and greatest number of its own properties. */
  readonly maxJsonBytes?: number;
  readonly maxProperties?: number;
}

/** A field of a request or an answer on `/v2`. */
export interface FieldDoc extends Omit<DescribedField, "fields"> {
  readonly bounds: Bounds;
  /** Answers: it is written even when it has no value. */
  readonly alwaysPresent: boolean;
  readonly deprecated: boolean;
  readonly fields: readonly FieldDoc[];
  /** The message whose fields `fields` are; of a struct, a scalar or an enum undefined. */
  readonly message: DescMessage | undefined;
}

/** A procedure as its page describes it. */
export interface ProcedureDoc {
  /** `keys.createKey` */
  readonly name: string;
  /** `keys` */
  readonly namespace: string;
  readonly method: DescMethodUnary;
  readonly comment: string;
  /** As the interface writes them: `api.{api_id}.create_key`, `api.{api_id}.encrypt_key when recoverable`. */
  readonly permissions: readonly string[];
  /** It writes audit events, so it takes an Idempotency-Key. */
  readonly changes: boolean;
  /** What its answer shows one of, with an ETag; "" for none. */
  readonly etag: string;
  /** What it changes one of, under If-Match; "" for none. */
  readonly ifMatch: string;
  /** Its answer may hold a secret. */
  readonly noStore: boolean;
  /** The field whose list the body is on `/v2`; "" where the body is an object. */
  readonly arrayBody: string;
  readonly request: readonly FieldDoc[];
  /** What has to hold between fields of the request, for people. */
  readonly crossRules: readonly string[];
  /** Unknown fields at the top level of the request are ignored. */
  readonly ignoresUnknown: boolean;
  /** `data` of the answer. */
  readonly data: FieldDoc;
  /** The answer is a page of a list. */
  readonly isPaged: boolean;
  /** Why it may fail beside `reasonsOfEveryCall`. */
  readonly errors: readonly Reason[];
}

/** Why any call of a procedure may fail. */
export const reasonsOfEveryCall: readonly Reason[] = [
  "invalid_input",
  "authentication_missing",
  "authentication_malformed",
  "authentication_key_not_found",
  "authentication_key_disabled",
  "authentication_key_expired",
  "insufficient_permissions",
  "request_body_unreadable",
  "request_body_too_large",
  "request_timeout",
  "client_closed_request",
  "workspace_rate_limited",
  "unexpected_error",
  "service_unavailable",
];

/** Citations of the specification, which is not part of the documentation: `(keys §1.6, §1.9)`. */
const citation = /\s*\((?=[^)]*§)[^)]*\)/g;

/** What the interface says of a message, field, enum, value, service or method; "" when that is nothing. */
export const commentOn = (fullName: string): string => (comments[fullName] ?? "").replaceAll(citation, "");

const finite = (name: keyof Bounds, value: number, none: number): Bounds =>
  value === none || !Number.isFinite(value) ? {} : { [name]: value };

const boundsOf = (inner: DescField, isList: boolean): Bounds => {
  const place = String(inner);
  const own = rulesOfField(inner);
  const list = isList ? listRules(place, own) : undefined;
  const rules = list?.items ?? own;
  const ofItems = list ? { ...finite("minItems", list.min, 0), ...finite("maxItems", list.max, Number.POSITIVE_INFINITY) } : {};
  if (rules.type.case === "string") {
    const { min, max, pattern } = textRules(place, rules);
    return { ...ofItems, ...finite("min", min, 0), ...finite("max", max, 0), ...(pattern && { pattern: pattern.source }) };
  }
  if (rules.type.case === "int64") {
    const { min, max } = integerRules(place, rules);
    return { ...ofItems, ...finite("min", min, Number.MIN_SAFE_INTEGER), ...finite("max", max, Number.MAX_SAFE_INTEGER) };
  }
  return {
    ...ofItems,
    ...finite("maxJsonBytes", getOption(inner, max_json_bytes), 0),
    ...finite("maxProperties", getOption(inner, max_properties), 0),
  };
};

/** What the interface says of a field: of itself, else of its type, and of the values of an enum. */
const fieldComment = (field: DescField, inner: DescField): string => {
  const own = commentOn(`${field.parent.typeName}.${field.name}`) || commentOn(field.message?.typeName ?? field.enum?.typeName ?? "");
  const values = (inner.enum?.values ?? []).flatMap((value) => {
    const comment = commentOn(`${value.parent.typeName}.${value.name}`);
    const [spelling] = getOption(value, json_names);
    return comment === "" || spelling === undefined ? [] : [`\`${spelling}\`: ${comment.charAt(0).toLowerCase()}${comment.slice(1)}`];
  });
  // Of filters, the type says what an empty list means.
  const ofType = commentOn(field.message?.typeName ?? "");
  const empty = /empty list/.test(ofType) && !/empty/i.test(own) ? "An empty list lets nothing pass." : "";
  return [own, empty, ...values].filter((text) => text !== "").join(" ");
};

const describe = (field: DescField): FieldDoc => {
  const { inner, isList } = unwrapField(field);
  const described = describeField(field);
  const isPlain = field.fieldKind !== "list" && field.fieldKind !== "message" && field.presence === FeatureSet_FieldPresence.IMPLICIT;
  const message = described.kind === "object" ? inner.message : undefined;
  return {
    ...described,
    comment: fieldComment(field, inner),
    bounds: boundsOf(inner, isList),
    alwaysPresent: isPlain || getOption(field, always_present),
    deprecated: field.deprecated,
    fields: message === undefined ? [] : message.fields.map(describe),
    message,
  };
};

const errorsOf = (method: DescMethodUnary): readonly Reason[] => {
  const named = procedureErrors[procedureName(method)] ?? [];
  return getOption(method, if_match) === "" ? named : [...named, "revision_differs"];
};

/** What has to hold between the fields of a message, and of those within it. */
const crossRulesOf = (desc: DescMessage): string[] => [
  ...getOption(desc, messageRules).cel.map(({ message }) => message),
  ...desc.fields.flatMap((field) => {
    const { inner } = unwrapField(field);
    return inner.message && !inner.message.typeName.startsWith("google.") ? crossRulesOf(inner.message) : [];
  }),
];

const describeProcedure = (method: DescMethodUnary): ProcedureDoc => {
  const { data, pagination } = method.output.field;
  if (data === undefined) throw new Error(`${String(method)} answers without data`);
  const name = procedureName(method);
  return {
    name,
    namespace: name.slice(0, name.indexOf(".")),
    method,
    comment: commentOn(`${method.parent.typeName}.${method.name}`),
    permissions: getOption(method, permission),
    changes: getOption(method, changes),
    etag: getOption(method, etag),
    ifMatch: getOption(method, if_match),
    noStore: getOption(method, no_store),
    arrayBody: getOption(method, array_body),
    request: method.input.fields.map(describe),
    crossRules: [...new Set(crossRulesOf(method.input))],
    ignoresUnknown: getOption(method.input, ignore_unknown),
    data: describe(data),
    isPaged: pagination !== undefined,
    errors: errorsOf(method),
  };
};

/** Every procedure of `/v2`, those of a test clock included, by namespace in the order of its declaration. */
export const procedures: readonly ProcedureDoc[] = unaryMethods(testableServices).map(describeProcedure);
