import { readFileSync } from "node:fs";

const readVersion = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  if (typeof manifest === "object" && manifest !== null && "version" in manifest) return String(manifest.version);
  throw new Error("package.json names no version");
};

/** Version of this release, as in package.json. */
export const version: string = readVersion();
