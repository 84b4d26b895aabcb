import { create, type DescExtension, type ExtensionValueShape, getExtension, getOption, hasOption } from "@bufbuild/protobuf";
import { oncePer } from "../../util/oncePer.ts";

/** Shared by all who ask, so nobody may change it. */
const unset = oncePer((option: DescExtension) => Object.freeze(getExtension(create(option.extendee), option)));

/**
 * The same as `getOption`, which makes a type of message for each answer. Hardly any descriptor has an option, and a start asks for
 * thousands: the value of an option that is not there is made once.
 */
export const optionOf: typeof getOption = (element, option) =>
  hasOption(element, option) ? getOption(element, option) : (unset(option) as ExtensionValueShape<typeof option>);
