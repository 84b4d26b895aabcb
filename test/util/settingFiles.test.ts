import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readSettingFiles } from "../../src/platform/util/settingFiles.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "latchkey-setting-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const read = (path: string) => readSettingFiles([{ setting: "TLS_CERT", path }]);
const unreadable = (path: string, why: string) => ({
  name: "UnusableFile",
  reason: "unreadable",
  message: `TLS_CERT: ${JSON.stringify(path)} ${why}`,
});

test("a file is read through a link", async () => {
  const [file, link] = [join(directory, "file"), join(directory, "link")];
  writeFileSync(file, "secret");
  symlinkSync(file, link);
  expect(String(await read(link))).toBe("secret");
});

test("a named pipe, a device and a directory are refused, not waited for", async () => {
  const pipe = join(directory, "pipe");
  execFileSync("mkfifo", [pipe]);
  for (const path of [pipe, "/dev/zero", directory]) {
    await expect(read(path)).rejects.toMatchObject(unreadable(path, "is not a regular file"));
  }
});

test("a file of more than a megabyte is refused, and none of its contents are shown", async () => {
  const path = join(directory, "large");
  writeFileSync(path, "x".repeat(1024 ** 2 + 1));
  await expect(read(path)).rejects.toMatchObject(unreadable(path, "has more than 1048576 bytes"));
});
