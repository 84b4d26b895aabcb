import { expect, test } from "vitest";
import { parseExpiry } from "../../src/cli/expiry.ts";

const now = Date.UTC(2026, 0, 15, 12);

test.each([
  ["90m", now + 90 * 60_000],
  ["12h", now + 12 * 3_600_000],
  ["30d", now + 30 * 86_400_000],
  ["2w", now + 14 * 86_400_000],
  ["2030-12-31", Date.UTC(2030, 11, 31)],
  ["2028-02-29", Date.UTC(2028, 1, 29)],
  ["2030-12-31T12:30Z", Date.UTC(2030, 11, 31, 12, 30)],
  ["2030-12-31T12:30:15.250+02:00", Date.UTC(2030, 11, 31, 10, 30, 15, 250)],
  ["2100-01-01", 4_102_444_800_000],
])("%s is understood", (text, expected) => {
  expect(parseExpiry(text, now)).toBe(expected);
});

test.each([
  "",
  "soon",
  "30",
  "d",
  "1.5d",
  "-1d",
  "30D",
  "2030-13-01",
  "2027-02-29",
  "2030-12-31T12:30",
  "2030-12-31T25:00Z",
  "31.12.2030",
  "1893456000000",
])("%j is refused", (text) => {
  expect(() => parseExpiry(text, now)).toThrow(/--expires/);
});

test.each(["0d", "2026-01-15", "2020-01-01", "2026-01-15T12:00:00Z"])("%s is not in the future", (text) => {
  expect(() => parseExpiry(text, now)).toThrow(/not in the future/);
});

test.each(["2100-01-02", "999999999w"])("%s is too far in the future", (text) => {
  expect(() => parseExpiry(text, now)).toThrow(/is after 2100/);
});
