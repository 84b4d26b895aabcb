import { invalidFunction } from "./checkSyntax.ts";
import { isOperatorCall, isUncallable } from "./functions.ts";
import { type Token, tokeniseWritten } from "./tokens.ts";

/** Names that stand before a parenthesis. */
const called = (tokens: readonly Token[], isAdjacent: boolean): Token[] =>
  tokens.filter(({ kind, end }, i) => {
    const opening = tokens[i + 1];
    return (
      (kind === "word" || kind === "quoted") && opening?.text === "(" && opening.kind === "sign" && (!isAdjacent || opening.start === end)
    );
  });

/**
 * Refuses calls by name of what only syntax may turn into: `tuple(1)` where `(1, 2)` is meant (analytics §3). The syntax
 * tree has the same functions for both, so this goes by what the caller wrote.
 *
 * @param sql as the caller wrote it.
 * @param formatted the tokens of its one spelling, in which a call has no blank before its parenthesis.
 */
export const checkCalls = (sql: string, formatted: readonly Token[]): void => {
  const refused =
    called(tokeniseWritten(sql), false).find(({ text }) => isUncallable(text)) ??
    called(formatted, true).find(({ text }) => isOperatorCall(text));
  if (refused) throw invalidFunction(refused.text);
};
