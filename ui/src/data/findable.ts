/** The kinds of object that a text may name, judged by its form. */
export interface Findable {
  /** It may be a whole key: it is sent to nothing but the search for keys, and no code shows it. */
  readonly mayBeSecret: boolean;
  /** It may be a name: other pages' objects are searched too. */
  readonly mayBeName: boolean;
}

/** Ids have eight characters of time and sixteen at random behind their prefix (protocol §4). */
const id = /^[a-z]{2,4}_[1-9A-HJ-NP-Za-km-z]{24}$/;

/** The shortest secret has 16 bytes, 22 characters (keys §1). */
const shortestSecret = 20;

/** Reads a text that was typed or pasted. */
export const findable = (text: string): Findable => {
  const isId = id.test(text);
  const mayBeSecret = !isId && text.length >= shortestSecret && !/\s/.test(text);
  return { mayBeSecret, mayBeName: !isId && !mayBeSecret && text.length >= 2 };
};
