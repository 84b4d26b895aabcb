import { readFile } from "node:fs/promises";
import type { OidcConfig } from "../config/oidcVariables.ts";
import type { OidcSettings } from "../console/oidc/oidcSettings.ts";
import { readPermissionMapping } from "../domain/console/permissionMapping.ts";
import { secret } from "../domain/secrets/secret.ts";

const readSettingFile = async (setting: string, file: string): Promise<string> => {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw new Error(`${setting}: the file ${file} cannot be read`, { cause: error });
  }
};

/** What a configuration names, read from its files. Rejects with an error that names the setting. */
export const readOidcSettings = async ({ issuer, clientId, clientSecret, permissions }: OidcConfig): Promise<OidcSettings> => {
  let known = clientSecret;
  if ("file" in known) {
    const name = "OIDC_CLIENT_SECRET_FILE";
    const text = await readSettingFile(name, known.file);
    if (text === "") throw new Error(`${name}: the file ${known.file} is empty`);
    known = secret(text);
  }
  let mapping = permissions;
  if ("file" in mapping) {
    const name = "OIDC_PERMISSIONS";
    const read = readPermissionMapping(await readSettingFile(name, mapping.file));
    if ("problem" in read) throw new Error(`${name}: the file ${mapping.file} is not a mapping of people to permissions: ${read.problem}`);
    mapping = read.value;
  }
  return { issuer, clientId, clientSecret: known, mapping };
};
