import { type DescMessage, type DescMethodUnary, type DescService, getOption } from "@bufbuild/protobuf";
import { comments } from "../../../../gen/latchkey/v2/comments.ts";
import { array_body, changes, permission } from "../../../../gen/latchkey/v2/options_pb.ts";
import { unaryMethods } from "../edges/unaryMethods.ts";
import { procedureName } from "../procedureName.ts";
import { type DescribedField, describeField, describeFields } from "./describeField.ts";

/** A procedure as /v2 has it, for people and for programs that talk to them. */
export interface DescribedProcedure {
  /** `keys.createKey` */
  readonly name: string;
  /** What the interface says of it. */
  readonly comment: string;
  /** The permissions that a root key needs, as the interface writes them. */
  readonly permissions: readonly string[];
  /** It changes something, and takes an Idempotency-Key. */
  readonly changes: boolean;
  /** The request. */
  readonly input: DescMessage;
  /** Of the request. */
  readonly fields: readonly DescribedField[];
  /** The list that the body is, where it is no object. */
  readonly arrayBody: DescribedField | undefined;
  /** `data` of the answer. */
  readonly data: DescribedField;
  /** The answer is a page of a list. */
  readonly isPaged: boolean;
}

const describe = (method: DescMethodUnary): DescribedProcedure => {
  const { data, pagination } = method.output.field;
  if (data === undefined) throw new Error(`${String(method)} answers without data`);
  const fields = describeFields(method.input);
  const list = getOption(method, array_body);
  return {
    name: procedureName(method),
    comment: comments[`${method.parent.typeName}.${method.name}`] ?? "",
    permissions: getOption(method, permission),
    changes: getOption(method, changes),
    input: method.input,
    fields,
    arrayBody: list === "" ? undefined : fields.find(({ name }) => name === list),
    data: describeField(data),
    isPaged: pagination !== undefined,
  };
};

/** Describes the procedures of services, in the order of their declaration. */
export const describeProcedures = (services: readonly DescService[]): DescribedProcedure[] => unaryMethods(services).map(describe);
