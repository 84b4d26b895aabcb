/** The values that a form edits, by field: plain JSON data. */
export type Draft = object;

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Whether the draft is the one that the form began with. */
export const isUntouched = <Edited extends Draft>(draft: Edited, initial: Edited): boolean => same(draft, initial);

/**
 * Rebases the draft on a version that another editor has stored: fields that the form did not change follow that version.
 * @param initial the draft that the form began with @param stored the one of the version that is stored now
 */
export const rebasedDraft = <Edited extends Draft>(draft: Edited, initial: Edited, stored: Edited): Edited =>
  Object.fromEntries(
    Object.entries(draft).map(([field, value]) => [
      field,
      same(value, initial[field as keyof Edited]) ? stored[field as keyof Edited] : value,
    ]),
  ) as Edited;
