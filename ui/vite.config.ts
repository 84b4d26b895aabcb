import { join } from "node:path";
import { defineConfig, type UserConfig } from "vite";

/** The service that the development server asks: `LATCHKEY_URL`, default the one on this machine. */
const service = process.env.LATCHKEY_URL ?? "http://127.0.0.1:3000";

const config: UserConfig = defineConfig({
  root: import.meta.dirname,
  base: "/ui/",
  // Imports from `#protovalidate` and `src/domain` are outside ui/.
  server: {
    fs: { allow: [join(import.meta.dirname, "..")] },
    // The service compares Host and Origin with its own address (console §1, §2.5).
    proxy: {
      "/docs": { target: service },
      "/ui/rpc": { target: service, changeOrigin: true, headers: { origin: new URL(service).origin } },
    },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist",
    assetsDir: "a",
    // Without a name before the hash: renaming a source file changes no address of what it holds.
    rolldownOptions: {
      // A slow machine is no reason to warn.
      checks: { pluginTimings: false },
      output: {
        entryFileNames: "a/[name]-[hash].js",
        chunkFileNames: "a/[name]-[hash].js",
        assetFileNames: "a/[name]-[hash][extname]",
        codeSplitting: {
          groups: [
            // Every page makes calls: what they need stays in one piece, which is smaller than several.
            { name: "call", test: /\/ui\/src\/data\/calls\/call\.ts$/, priority: 3 },
            // The sign-in form and everything that loads before it.
            { name: "start", tags: ["$initial"], priority: 2 },
            { name: "form", test: /\/ui\/src\/design\/forms\/(Form|TextField)\.tsx$/, priority: 1 },
            // Parts that many pages, tabs and dialogs share are one file: each file costs a request. With a lower number
            // every page would load what half of them do without.
            { name: "common", minShareCount: 11 },
          ],
        },
      },
    },
    target: "es2023",
    // An address of our own, never `data:`: the CSP of console §2.6 allows scripts and styles of this origin only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: "manifest.json",
    license: { fileName: "licences.md" },
    reportCompressedSize: false,
    emptyOutDir: true,
  },
});

export default config;
