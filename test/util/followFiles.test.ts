import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FollowedFiles, followFiles } from "../../src/platform/util/followFiles.ts";
import { UnusableFile } from "../../src/platform/util/settingFiles.ts";
import { eventually } from "../support/eventually.ts";

let directory: string;
let followed: FollowedFiles<string> | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "latchkey-follow-"));
});
afterEach(() => {
  followed?.stop();
  rmSync(directory, { recursive: true });
});

/** Two files, which belong together when they hold the same. */
const follow = async (every: number) => {
  const told: string[] = [];
  const files = ["a", "b"].map((name) => ({ setting: name.toUpperCase(), path: join(directory, name) }));
  followed = await followFiles({
    files,
    parse: ([a, b]) => {
      if (String(a) !== String(b)) throw new UnusableFile("key_mismatch", "A and B differ");
      if (String(a).endsWith("…")) throw new UnusableFile("malformed", `A breaks off: ${String(a)}`);
      return String(a);
    },
    every,
    onChange: (value) => told.push(value),
    onFault: ({ reason }) => told.push(reason),
  });
  return { followed, told };
};

const write = (text: string, ...names: readonly string[]): void => {
  for (const name of names) writeFileSync(join(directory, name), text);
};

/** As the kubelet does: the files are links through `..data`, which is turned to another directory at once. */
const mount = (text: string): void => {
  const version = `..${text}`;
  mkdirSync(join(directory, version));
  write(text, `${version}/a`, `${version}/b`);
  symlinkSync(version, join(directory, "..data_tmp"));
  renameSync(join(directory, "..data_tmp"), join(directory, "..data"));
};

test("a mounted secret is followed through its link", async () => {
  mount("one");
  for (const name of ["a", "b"]) symlinkSync(join("..data", name), join(directory, name));
  const { followed, told } = await follow(10);
  expect(followed.value()).toBe("one");
  mount("two");
  await eventually(() => expect(followed.value()).toBe("two"));
  expect(told).toEqual(["two"]);
});

test("a file that is renamed to it, and one that is written into, are followed", async () => {
  write("one", "a", "b");
  const { followed, told } = await follow(10);
  write("two", "new");
  write("two", "b");
  renameSync(join(directory, "new"), join(directory, "a"));
  await eventually(() => expect(followed.value()).toBe("two"));
  write("three", "a", "b");
  await eventually(() => expect(followed.value()).toBe("three"));
  expect(told.filter((word) => word !== "key_mismatch")).toEqual(["two", "three"]);
});

test("invalid content is reported once, and the last valid content stays until it is replaced", async () => {
  write("one", "a", "b");
  const { followed, told } = await follow(10);
  write("half…", "a", "b");
  await eventually(() => expect(told).toEqual(["malformed"]));
  expect([followed.value(), followed.fault()?.reason]).toEqual(["one", "malformed"]);
  rmSync(join(directory, "b"));
  await eventually(() => expect(told).toEqual(["malformed", "unreadable"]));
  expect(followed.fault()?.message).toBe(`B: ${JSON.stringify(join(directory, "b"))} cannot be read (ENOENT)`);
  write("other", "b");
  await eventually(() => expect(told).toEqual(["malformed", "unreadable", "key_mismatch"]));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([told.length, followed.value()]).toEqual([3, "one"]);
  write("one", "a", "b");
  await eventually(() => expect(followed.fault()).toBeUndefined());
});

test("reloading reads at once, and again what is used already", async () => {
  write("one", "a", "b");
  const { followed, told } = await follow(3_600_000);
  write("two", "a", "b");
  expect(followed.value()).toBe("one");
  await followed.reload();
  await followed.reload();
  expect([followed.value(), told]).toEqual(["two", ["two", "two"]]);
});

test("the first reading has to be usable", async () => {
  write("one", "a");
  await expect(follow(10)).rejects.toThrow('B: "');
  write("two", "b");
  await expect(follow(10)).rejects.toThrow("A and B differ");
});
