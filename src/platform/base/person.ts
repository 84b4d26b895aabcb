/** A person who signed in by OpenID Connect, as the provider told of them then (console §2.8). */
export interface Person {
  /** `iss` and `sub` of the ID token. */
  readonly issuer: string;
  readonly subject: string;
  readonly name?: string;
  /** Which claim `values` are of, in the form of `claimName`. */
  readonly claim: string;
  readonly values: readonly string[];
}

/** Issuer and subject in one text, such as `https://accounts.example.com#248289`: an issuer has no fragment. No root key has such an id. */
export const personId = ({ issuer, subject }: Pick<Person, "issuer" | "subject">): string => `${issuer}#${subject}`;

/** Whether two texts name the same issuer: one may end with a slash where the other does not. */
export const isSameIssuer = (one: string, other: string): boolean =>
  URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href;
