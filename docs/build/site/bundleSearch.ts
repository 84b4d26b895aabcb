import { join } from "node:path";
import { build, type Rolldown } from "vite";

/** Bundles the script of the search page with the packages that it needs. */
export const bundleSearch = async (): Promise<{ readonly script: string; readonly licences: string }> => {
  const licenceFile = "licences.md";
  const { output } = (await build({
    root: join(import.meta.dirname, "search"),
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    build: {
      write: false,
      target: "es2023",
      modulePreload: { polyfill: false },
      license: { fileName: licenceFile },
      rolldownOptions: { input: join(import.meta.dirname, "search/searchPage.ts"), checks: { pluginTimings: false } },
    },
  })) as Rolldown.RolldownOutput;
  const [script] = output;
  const licences = output.find(({ fileName }) => fileName === licenceFile);
  if (licences?.type !== "asset") throw new Error("the bundle of the search has no licences");
  return { script: script.code, licences: String(licences.source) };
};
