import { deriveId } from "../domain/ids.ts";
import { deriveKeySecret, type KeySecretForm } from "../domain/secrets/keySecret.ts";
import { deriveRootKeySecret } from "../domain/secrets/rootKeySecret.ts";
import type { Secret } from "../domain/secrets/secret.ts";

/** Everything that is the same in all runs of a call, and so has to come out of its reservation. */
export interface Seed {
  /** Arrival of the first run, Unix ms. */
  readonly now: number;
  /** 32 random bytes. */
  readonly salt: Uint8Array;
  /** The root key or session token, as the caller presented it; never stored. */
  readonly credential: Secret;
}

/** How a secret is made again from the seed; this much of it is stored. */
export interface Recipe {
  readonly label: string;
  /** Of the secret of an API key; absent for one of a root key. */
  readonly form?: KeySecretForm;
}

/** The secret of a recipe. */
export const followRecipe = ({ label, form }: Recipe, { credential, salt }: Seed): Secret =>
  (form === undefined ? deriveRootKeySecret(credential, salt, label) : deriveKeySecret(form, credential, salt, label)).key;

/** Id of the event that `mark` marks. */
export const markedId = ({ now, salt }: Seed): string => deriveId("log", now, salt, "change");
