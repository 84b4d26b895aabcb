import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

/**
 * Builds the console: the same sources and packages give the same bytes. Beside every text file stand its `.br` and `.gz`, whose bytes depend
 * on the version of Node.
 * @param outDir an absolute path
 */
export const buildConsole = async (outDir: string): Promise<void> => {
  await build({ configFile: join(import.meta.dirname, "vite.config.ts"), logLevel: "warn", build: { outDir } });
};

/** Writes the compressed forms that the service hands out as they are (console §1). */
export const compressConsole = (outDir: string): void => {
  for (const entry of readdirSync(outDir, { recursive: true, encoding: "utf8" })) {
    if (!/\.(js|css|html|svg)$/.test(entry)) continue;
    const file = join(outDir, entry);
    const bytes = readFileSync(file);
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
  }
};

if (process.argv[1] === import.meta.filename) {
  const outDir = join(import.meta.dirname, "dist");
  await buildConsole(outDir);
  compressConsole(outDir);
}
