import type { Secret } from "../../../platform/secrets/secret.ts";
import type { PersonSettings } from "../holders.ts";

/** By which provider people sign in, and what they may do then (console §2.8). */
export interface OidcSettings extends PersonSettings {
  readonly clientId: string;
  readonly clientSecret: Secret;
}
