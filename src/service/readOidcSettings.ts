import { readFile } from "node:fs/promises";
import type { OidcSettings } from "../features/console/oidc/oidcSettings.ts";
import type { OidcConfig } from "../platform/config/oidcVariables.ts";
import { readPermissionMapping } from "../platform/config/permissionMapping.ts";

/** What a configuration says, with the mapping of the file that it may name. Rejects with an error that names the setting. */
export const readOidcSettings = async ({ permissions, ...known }: OidcConfig): Promise<OidcSettings> => {
  if (!("file" in permissions)) return { ...known, mapping: permissions };
  const { file } = permissions;
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new Error(`OIDC_PERMISSIONS: the file ${file} cannot be read`, { cause });
  });
  const read = readPermissionMapping(text.trim());
  if ("problem" in read) throw new Error(`OIDC_PERMISSIONS: the file ${file} is not a mapping of people to permissions: ${read.problem}`);
  return { ...known, mapping: read.value };
};
