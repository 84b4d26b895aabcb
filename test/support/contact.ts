import { type Contact, createContact } from "../../src/platform/cache/contact.ts";

/** Of a node that hears everything at once. */
export const inContact = (): Contact => {
  const contact = createContact(30_000);
  contact.heardAt = Number.POSITIVE_INFINITY;
  return contact;
};
