import { type DescEnum, getOption } from "@bufbuild/protobuf";
import { json_names } from "../../../../gen/latchkey/v2/options_pb.ts";

/** The name of an enum's value in JSON (protocol §4): `VALID`, `passed`. A value that is not known here stays its number. */
export const enumName = (desc: DescEnum, value: number): string => {
  const found = desc.value[value];
  return (found === undefined ? undefined : getOption(found, json_names)[0]) ?? String(value);
};
