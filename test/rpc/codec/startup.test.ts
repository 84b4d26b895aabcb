import { create, createFileRegistry, type DescMessage, type MessageInitShape, setExtension } from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_descriptor,
  MessageOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import {
  FieldRulesSchema,
  field as fieldOption,
  file_buf_validate_validate,
  MessageRulesSchema,
  message as messageOption,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { describe, expect, test } from "vitest";
import { file_latchkey_v2_options, Wrapper, wrapper } from "../../../gen/latchkey/v2/options_pb.ts";
import { compileCodec } from "../../support/compileCodec.ts";

const { STRING, INT64, DOUBLE, BYTES } = FieldDescriptorProto_Type;

const fieldOf = (
  name: string,
  type: FieldDescriptorProto_Type,
  rules: MessageInitShape<typeof FieldRulesSchema> = {},
  label: FieldDescriptorProto_Label = FieldDescriptorProto_Label.OPTIONAL,
) => {
  const options = create(FieldOptionsSchema);
  setExtension(options, fieldOption, create(FieldRulesSchema, rules));
  return create(FieldDescriptorProtoSchema, { name, jsonName: name, number: 1, type, label, options });
};

const messageOf = (message: DescriptorProto): DescMessage => {
  const file = create(FileDescriptorProtoSchema, {
    name: "test.proto",
    package: "test",
    syntax: "proto3",
    dependency: ["buf/validate/validate.proto", "latchkey/v2/options.proto"],
    messageType: [message],
  });
  const known = [file_google_protobuf_descriptor, file_buf_validate_validate, file_latchkey_v2_options];
  const registry = createFileRegistry(file, (name) => known.find((dependency) => `${dependency.name}.proto` === name));
  const desc = registry.getMessage(`test.${message.name}`);
  if (desc === undefined) throw new Error("the message is not in the registry");
  return desc;
};

const withField = (...args: Parameters<typeof fieldOf>): DescMessage =>
  messageOf(create(DescriptorProtoSchema, { name: "Probe", field: [fieldOf(...args)] }));

describe("an annotation that the codec does not implement stops the service from starting", () => {
  test("an annotation that is known, for comparison", () => {
    const codec = compileCodec(withField("probe", STRING, { required: true, type: { case: "string", value: { minLen: 1n } } }));
    expect(codec.decode({}).violations).toHaveLength(1);
  });

  test.each<[string, Parameters<typeof fieldOf>, RegExp]>([
    [
      "a string rule",
      ["probe", STRING, { type: { case: "string", value: { wellKnown: { case: "email", value: true } } } }],
      /StringRules\.email/,
    ],
    ["an integer rule", ["probe", INT64, { type: { case: "int64", value: { in: [1n] } } }], /Int64Rules\.in/],
    ["a field rule", ["probe", STRING, { celExpression: ["true"] }], /FieldRules\.cel_expression/],
    ["rules of another type", ["probe", INT64, { type: { case: "string", value: { minLen: 1n } } }], /another type/],
    [
      "a pattern that RE2 and JavaScript may read differently",
      ["probe", STRING, { type: { case: "string", value: { pattern: "a.*" } } }],
      /pattern/,
    ],
    ["a required text whose empty value is allowed", ["probe", STRING, { required: true }], /zero value/],
    ["a scalar type", ["probe", DOUBLE], /scalar type DOUBLE/],
    ["another scalar type", ["probe", BYTES], /scalar type BYTES/],
    [
      "a list rule",
      ["probe", STRING, { type: { case: "repeated", value: { unique: true } } }, FieldDescriptorProto_Label.REPEATED],
      /RepeatedRules\.unique/,
    ],
  ])("%s", (_, args, error) => {
    expect(() => compileCodec(withField(...args))).toThrow(error);
  });

  test("a rule over several fields", () => {
    const options = create(MessageOptionsSchema);
    setExtension(options, messageOption, create(MessageRulesSchema, { cel: [{ id: "probe.unheard_of", expression: "true" }] }));
    const message = create(DescriptorProtoSchema, { name: "Probe", field: [fieldOf("probe", STRING)], options });
    expect(() => compileCodec(messageOf(message))).toThrow(/probe\.unheard_of/);
  });

  test.each([
    [Wrapper.NULLABLE, /nullable wrapper/],
    [Wrapper.LIST, /must be repeated/],
  ])("a wrapper that is none: %s", (kind, error) => {
    const options = create(MessageOptionsSchema);
    setExtension(options, wrapper, kind);
    const message = create(DescriptorProtoSchema, { name: "Probe", field: [fieldOf("probe", STRING)], options });
    expect(() => compileCodec(messageOf(message))).toThrow(error);
  });
});
