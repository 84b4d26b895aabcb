import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { needsElevation } from "../../src/features/console/elevation.ts";
import { hasEnded, idleExpiry, isElevated, renews } from "../../src/features/console/sessionTimes.ts";
import { isTold, retryAfter, withFailure } from "../../src/features/console/signInBound.ts";
import { allPermissions, parsePermission } from "../../src/platform/authorization/authorization.ts";
import { createSessionToken, looksLikeSessionToken } from "../../src/platform/secrets/sessionToken.ts";

const bounds = { idle: 1_800_000, whole: 43_200_000 };

describe("the times of a session", () => {
  const session = { lastUsedAt: 1_000_000, expiresAt: 43_000_000 };

  test("[console §2.3] it ends half an hour after its last use, and in any case at its end", () => {
    expect(idleExpiry(session, bounds)).toBe(2_800_000);
    expect([2_799_999, 2_800_000].map((now) => hasEnded(session, bounds, now))).toEqual([false, true]);
    const late = { ...session, lastUsedAt: 42_999_999 };
    expect([42_999_999, 43_000_000].map((now) => hasEnded(late, bounds, now))).toEqual([false, true]);
  });

  test("[console §2.4] it is elevated until a time, and not without one", () => {
    expect(isElevated(session, 0)).toBe(false);
    expect([4_999, 5_000].map((now) => isElevated({ ...session, elevatedUntil: 5_000 }, now))).toEqual([true, false]);
  });

  test("[console §2.3] uses of one second are one, also if the clock was set back", () => {
    expect([1_000_000, 1_000_999, 1_001_000, 0].map((now) => renews(session, now))).toEqual([false, false, true, false]);
  });
});

describe("the bound of failed sign-ins", () => {
  test("[console §2.7] never more than ten within any minute, and the wait is exact, whenever they come", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 60 }), (gaps) => {
        let now = 1_000_000;
        let failures: readonly number[] = [];
        const counted: number[] = [];
        for (const gap of gaps) {
          now += gap;
          const wait = retryAfter(failures, now);
          const recent = counted.filter((time) => time > now - 60_000);
          expect(wait === undefined).toBe(recent.length < 10);
          if (wait !== undefined) {
            expect(retryAfter(failures, now + wait * 1_000)).toBeUndefined();
            if (wait > 1) expect(retryAfter(failures, now + (wait - 1) * 1_000)).toBeDefined();
            continue;
          }
          failures = withFailure(failures, now);
          counted.push(now);
          expect(failures.length).toBeLessThanOrEqual(10);
        }
      }),
    );
  });

  test("[console §2.7] a clock that is set back delays no sign-in by more than a minute", () => {
    const failures = Array.from({ length: 10 }, () => 5_000_000);
    expect(retryAfter(failures, 1_000_000)).toBe(60);
  });

  test("[console §2.7] the log gets one line a minute", () => {
    expect([undefined, 0, 1].map((toldAt) => isTold(toldAt, 60_000))).toEqual([true, true, false]);
  });
});

test("[console §2.4] actions that need elevation: all on root keys but reading, plaintexts, deleting APIs and namespaces, erasing people", () => {
  const guarded = allPermissions.filter((text) => {
    const permission = parsePermission(text);
    return permission !== undefined && needsElevation(permission.action);
  });
  expect(guarded).toEqual([
    "api.*.decrypt_key",
    "api.*.delete_api",
    "identity.*.erase_identity",
    "ratelimit.*.delete_namespace",
    "root_key.*.create_root_key",
    "root_key.*.delete_root_key",
    "root_key.*.update_root_key",
  ]);
});

test("[console §2.1] a token is 32 bytes, prints as ***, and nothing else looks like one", () => {
  const { token, hash } = createSessionToken();
  expect(Buffer.from(token.reveal(), "base64url")).toHaveLength(32);
  expect([String(token), JSON.stringify({ token }), hash.includes(token.reveal())]).toEqual(["***", '{"token":"***"}', false]);
  expect(looksLikeSessionToken(token.reveal())).toBe(true);
  for (const text of ["", "A".repeat(42), "A".repeat(44), `${"A".repeat(42)}=`, `${"A".repeat(43)}\n`, "é".repeat(43)])
    expect([text, looksLikeSessionToken(text)]).toEqual([text, false]);
});
