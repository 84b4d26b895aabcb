import { expect } from "vitest";

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Times, which differ from run to run wherever they stand. */
const times = new Set(["reset", "createdAt", "updatedAt", "lastUsedAt", "insertedAt"]);

/** The answer on a page as an expectation: `api_…` matches any id of that kind, `…` elsewhere any text, a time any time. */
export const expectedJson = (shown: unknown, name = ""): unknown => {
  if (times.has(name)) return typeof shown === "string" ? expect.stringMatching(/^\d{13}$/) : expect.any(Number);
  if (typeof shown === "string") {
    if (/^\w+_…$/.test(shown)) return expect.stringMatching(new RegExp(`^${shown.slice(0, -1)}\\w+$`));
    return shown.includes("…") ? expect.stringMatching(new RegExp(`^${shown.split("…").map(escaped).join(".+")}$`)) : shown;
  }
  if (Array.isArray(shown)) return shown.map((item) => expectedJson(item));
  if (typeof shown !== "object" || shown === null) return shown;
  return Object.fromEntries(Object.entries(shown).map(([key, value]) => [key, expectedJson(value, key)]));
};

const oneSpace = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** The output on a page as a pattern: `…` matches any text, and column widths do not count. */
export const expectedText = (shown: string): RegExp => new RegExp(`^${oneSpace(shown).split("…").map(escaped).join(".*")}$`);

/** The output to compare with `expectedText`. */
export const comparedText = (output: string): string => oneSpace(output);
