import { hkdfSync } from "node:crypto";
import { deriveId } from "../../platform/base/ids.ts";
import { createKeyRing, type KeyRing } from "../../platform/secrets/keyRing.ts";
import { createKeySecret, type KeySecretForm } from "../../platform/secrets/keySecret.ts";
import { createRootKeySecret } from "../../platform/secrets/rootKeySecret.ts";
import type { DrawBytes, Secret } from "../../platform/secrets/secret.ts";

/** Everything that has to be the same in all runs of a call, so that a run finishes what another one began. */
export interface Seed {
  /** Arrival of the first run, Unix ms. */
  readonly now: number;
  /** 32 random bytes. */
  readonly salt: Uint8Array;
  /** The root key or session token, as the caller presented it; never stored. */
  readonly credential: Secret;
}

/** Derives bytes from the seed by HKDF-SHA256: nobody can derive them without the credential. */
export const drawFrom =
  ({ credential, salt }: Seed): DrawBytes =>
  (length, label) =>
    new Uint8Array(hkdfSync("sha256", credential.reveal(), salt, label, length));

/** Id of the event by which other runs of the call find its change. */
export const markedId = ({ now, salt }: Seed): string => deriveId("log", now, salt, "change");

/** Encrypts kept answers with AES-256-GCM. The salt is of one call, so a ciphertext that was moved to another does not decrypt. */
const ringOf = (seed: Seed): KeyRing => createKeyRing([{ id: "answer", key: Buffer.from(drawFrom(seed)(32, "answer")) }]);

/** Encrypts the JSON text of an answer for whoever has the credential. */
export const sealAnswer = (json: string, seed: Seed): string => ringOf(seed).encrypt(json, "").ciphertext;

interface Recipe {
  readonly label: string;
  readonly form?: KeySecretForm;
}

const isRecipe = (value: unknown): value is Recipe => typeof value === "object" && value !== null && "label" in value;

/** Up to version 0.11 an answer was kept in the clear, with a recipe in place of its secret. */
const followRecipes = (json: string, seed: Seed): string => {
  const follow = ({ form }: Recipe) => (form === undefined ? createRootKeySecret(drawFrom(seed)) : createKeySecret(form, drawFrom(seed)));
  return JSON.stringify(JSON.parse(json, (_, value: unknown) => (isRecipe(value) ? follow(value).key.reveal() : value)));
};

/** The JSON text of an answer that `sealAnswer` encrypted. */
export const openAnswer = (kept: string, seed: Seed): string =>
  kept.startsWith("{") ? followRecipes(kept, seed) : ringOf(seed).decrypt({ keyId: "answer", ciphertext: kept }, "");
