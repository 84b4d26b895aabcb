import { type Contact, createContact } from "../../src/platform/cache/contact.ts";

/** The feed state of a node that receives every change at once. */
export const inContact = (): Contact => {
  const contact = createContact(30_000);
  contact.heardAt = Number.POSITIVE_INFINITY;
  return contact;
};
