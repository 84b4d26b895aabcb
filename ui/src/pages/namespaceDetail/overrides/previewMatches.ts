import { compileOverrides } from "../../../../../src/features/ratelimit/overridePattern.ts";

interface HasIdentifier {
  readonly identifier: string;
}

/** The effect of an override on identifiers. */
export interface MatchPreview {
  /** Those that it would limit, and the override that does it now; undefined: none. */
  readonly applies: readonly { readonly identifier: string; readonly instead: string | undefined }[];
  /** Those that its pattern matches too, but that a more exact override keeps. */
  readonly kept: readonly { readonly identifier: string; readonly by: string }[];
}

/** Which identifiers an override would limit beside those that there are (ratelimit §5). @param text literal or pattern */
export const previewMatches = (text: string, overrides: readonly HasIdentifier[], identifiers: readonly string[]): MatchPreview => {
  const others = overrides.filter(({ identifier }) => identifier !== text);
  const drafted = { identifier: text };
  const [alone, before, after] = [[drafted], overrides, [...others, drafted]].map((each) => compileOverrides<HasIdentifier>(each));
  const matching = identifiers.filter((identifier) => alone?.match(identifier) !== undefined);
  const winners = matching.map((identifier) => ({ identifier, by: after?.match(identifier)?.identifier ?? text }));
  return {
    applies: winners
      .filter(({ by }) => by === text)
      .map(({ identifier }) => ({ identifier, instead: before?.match(identifier)?.identifier })),
    kept: winners.filter(({ by }) => by !== text),
  };
};

/** How many identifiers each override limits. */
export const matchCounts = (overrides: readonly HasIdentifier[], identifiers: readonly string[]): ReadonlyMap<string, number> => {
  const { match } = compileOverrides(overrides);
  const counts = new Map<string, number>();
  for (const identifier of identifiers) {
    const winner = match(identifier)?.identifier;
    if (winner !== undefined) counts.set(winner, (counts.get(winner) ?? 0) + 1);
  }
  return counts;
};
