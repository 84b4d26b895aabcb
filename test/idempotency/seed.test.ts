import { describe, expect, test } from "vitest";
import { drawFrom, openAnswer, type Seed, sealAnswer } from "../../src/features/idempotency/seed.ts";
import { createKeySecret } from "../../src/platform/secrets/keySecret.ts";
import { createRootKeySecret } from "../../src/platform/secrets/rootKeySecret.ts";
import { secret } from "../../src/platform/secrets/secret.ts";

const seed: Seed = { now: 1_750_000_000_000, salt: new Uint8Array(32).fill(7), credential: secret("lkr_credential") };
// As version 0.11 derived them from this seed.
const key = "acme_Qe3sEvBiEo5gpn2VhV3NcN";
const rootKey = "lkr_XsYNkmtubaxo8O8EUhsIneGFZRFD9VFr0Wm1sV";

describe("[protocol §2] the seed of a call with an Idempotency-Key", () => {
  test("leads to the same secrets in every run, also in one that finishes what version 0.11 began", () => {
    expect(createKeySecret({ byteLength: 16, prefix: "acme" }, drawFrom(seed)).key.reveal()).toBe(key);
    expect(createRootKeySecret(drawFrom(seed)).key.reveal()).toBe(rootKey);
  });

  test("encrypts a kept answer for the same credential and salt only", () => {
    const answer = JSON.stringify({ data: { keyId: "key_1", key } });
    const kept = sealAnswer(answer, seed);
    expect(kept).not.toContain("key_1");
    expect(openAnswer(kept, seed)).toBe(answer);
    expect(() => openAnswer(kept, { ...seed, credential: secret("lkr_another") })).toThrow();
    expect(() => openAnswer(kept, { ...seed, salt: new Uint8Array(32) })).toThrow();
  });

  test("opens an answer that version 0.11 kept", () => {
    const ofKey = { data: { keyId: "key_1", key: { label: "", form: { byteLength: 16, prefix: "acme" } } } };
    const ofRootKey = { data: { keyId: "rk_1", key: { label: "" } } };
    expect(JSON.parse(openAnswer(JSON.stringify(ofKey), seed))).toEqual({ data: { keyId: "key_1", key } });
    expect(JSON.parse(openAnswer(JSON.stringify(ofRootKey), seed))).toEqual({ data: { keyId: "rk_1", key: rootKey } });
  });
});
