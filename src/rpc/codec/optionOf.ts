import { create, type DescExtension, type ExtensionValueShape, getExtension, getOption, hasOption } from "@bufbuild/protobuf";
import { oncePer } from "../../util/oncePer.ts";

const unset = oncePer((option: DescExtension) => getExtension(create(option.extendee), option));

/**
 * The same as `getOption`, which makes a type of message for each answer. Hardly any descriptor has an option, and a start asks for
 * thousands: what those have that do not is made once. Not to be changed.
 */
export const optionOf: typeof getOption = (element, option) =>
  hasOption(element, option) ? getOption(element, option) : (unset(option) as ExtensionValueShape<typeof option>);
