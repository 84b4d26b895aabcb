/**
 * Builds the two targets of `deploy/Dockerfile` and runs each as an engine would. Needs root, buildah, crun and the base image or a
 * registry; `IMAGE_TOOL build` makes the base image instead where it is set. With the argument
 * `build` it only builds, with `run` it takes the images as they were built.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import packageJson from "../../package.json" with { type: "json" };
import { blocksOf, readPage } from "../docs/markdown.ts";
import { type Container, type MountedImage, mountImage, startContainer } from "./container.ts";
import { listProcesses, loadAll } from "./containerScripts.ts";

const dockerfile = "deploy/Dockerfile";
const targets = ["latchkey-slim", "latchkey"] as const;
type Target = (typeof targets)[number];
const { IMAGE_TOOL } = process.env;
const scratch = mkdtempSync(join(tmpdir(), "latchkey-image-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

/** Runs a program that has to succeed. */
const must = (program: string, ...args: readonly string[]): void => {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}:\n${stdout}${stderr}`);
};

const makeBase = (tool: string): void => {
  // It makes the base image for whatever it builds, were it nothing; without an instruction buildah leaves a container behind.
  const nothing = join(scratch, "Dockerfile");
  writeFileSync(nothing, "FROM scratch\nLABEL of=nothing\n");
  must(tool, "build", nothing, "latchkey-nothing");
  must("buildah", "--storage-driver", "vfs", "rmi", "latchkey-nothing");
};

/** Those of an earlier run, which would stay without a name: first the one that begins with the other. */
const removeImages = (): void => {
  for (const target of targets.toReversed()) spawnSync("buildah", ["--storage-driver", "vfs", "rmi", target]);
};

const build = (target: Target): void => {
  const ofBuildah = ["--storage-driver", "vfs", "bud", "--isolation", "chroot", "--format", "docker", "--file", dockerfile];
  // The last target is what a build without `--target` makes, and begins with the other one: that is not built once more.
  const which =
    target === "latchkey" ? ["--build-context", "latchkey-slim=container-image://localhost/latchkey-slim"] : ["--target", target];
  must("buildah", ...ofBuildah, ...(IMAGE_TOOL === undefined ? [] : ["--pull-never"]), ...which, "--tag", target, ".");
};

let checks = 0;
const problems: string[] = [];
/** Runs a check. The run continues after a failure, so that it reports all of them. */
const check = async (what: string, look: () => void | Promise<void>): Promise<void> => {
  checks += 1;
  try {
    await look();
  } catch (error) {
    problems.push(what);
    console.error(`${what}:\n${(error as Error).message}\n`);
  }
};

/** Bytes of what is not a directory or a link, below a path. */
const bytesBelow = (path: string): number => {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return stats.isFile() ? stats.size : 0;
  return readdirSync(path).reduce((sum, name) => sum + bytesBelow(join(path, name)), 0);
};

/** Lists the paths below a directory. It does not follow links: an absolute one would lead to files of this machine. */
const below = (root: string, directory = ""): readonly string[] =>
  readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? [path, ...below(root, path)] : [path];
  });

/** A directory as a volume of the user is. */
const newVolume = (owner = 1000): string => {
  const directory = mkdtempSync(join(scratch, "volume-"));
  chownSync(directory, owner, owner);
  chmodSync(directory, 0o700);
  return directory;
};

const until = async (what: string, isSo: () => boolean | Promise<boolean>, seconds = 30): Promise<void> => {
  const end = Date.now() + seconds * 1000;
  while (!(await isSo())) {
    assert(Date.now() < end, `${what}: not within ${seconds} s`);
    await sleep(50);
  }
};

const untilReady = async (container: Container): Promise<void> => {
  const end = container.exited.then((code) => assert.fail(`ended with ${code}:\n${container.output()}`));
  const isReady = () =>
    fetch("http://127.0.0.1:9090/readyz").then(
      ({ ok }) => ok,
      () => false,
    );
  await Promise.race([until(`ready\n${container.output()}`, isReady), end]);
};

const call = async (volume: string, procedure: string, body: object) => {
  const rootKey = readFileSync(join(volume, "root-key"), "utf8").trim();
  const response = await fetch(`http://127.0.0.1:3000/v2/${procedure}`, {
    method: "POST",
    headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const { data, error } = (await response.json()) as { data?: unknown; error?: { detail: string } };
  return { status: response.status, data, detail: error?.detail };
};

/** Ends it as an engine does. */
const stop = async (container: Container): Promise<void> => {
  container.kill("SIGTERM");
  const code = await Promise.race([container.exited, sleep(20_000)]);
  assert.equal(code, 0, `SIGTERM ended it with ${code}:\n${container.output()}`);
};

/** Runs README's commands unchanged, for a service with this volume. Resolves to the key that they make. */
const followReadme = (volume: string): string => {
  const blocks = blocksOf(readPage("README.md")).filter(({ language, comment }) => language === "sh" && !comment?.startsWith("not run"));
  const commands = blocks.slice(0, 3).map(({ body }) => body.replaceAll("data/root-key", `${volume}/root-key`));
  const script = ["set -e", ...commands, 'echo "KEY=$KEY"'].join("\n");
  const { status, stdout, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /"code":"VALID"/);
  assert.match(stdout, /"remaining":4/);
  return /^KEY=(\S+)$/m.exec(stdout)?.[1] ?? assert.fail(stdout);
};

const checkContents = async (name: Target, { root, config }: MountedImage): Promise<void> => {
  const app = join(root, "app");
  for (const path of [...readdirSync(app).sort(), "node_modules/@chdb"]) {
    const bytes = (() => {
      try {
        return bytesBelow(join(app, path));
      } catch {
        return 0;
      }
    })();
    if (bytes > 0) console.log(`${name}  ${(bytes / 1e6).toFixed(1).padStart(6)} MB  /app/${path}`);
  }
  await check(`${name}: what the image says of itself`, () => {
    assert.equal(config.Labels["org.opencontainers.image.version"], packageJson.version);
    assert.deepEqual([config.User, config.StopSignal, config.Entrypoint, config.Cmd], ["1000:1000", "SIGTERM", ["latchkey"], ["serve"]]);
    assert.deepEqual([Object.keys(config.Volumes), Object.keys(config.ExposedPorts)], [["/data"], ["3000/tcp", "9090/tcp"]]);
  });
  await check(`${name}: nobody but root may change what is in the image`, () => {
    const paths = below(root).filter((path) => !/^(?:proc|sys|dev)\//.test(path));
    const stats = paths.map((path) => ({ path, ...lstatSync(join(root, path)) }));
    const writable = stats.filter(({ mode }) => (mode & 0o170000) !== 0o120000 && (mode & 0o002) !== 0 && (mode & 0o1000) === 0);
    assert.deepEqual(
      writable.map(({ path }) => path),
      [],
      "world-writable",
    );
    const owned = stats.filter(({ path, uid }) => uid === 1000 && path !== "data");
    assert.deepEqual(
      owned.map(({ path }) => path),
      [],
      "belongs to user 1000",
    );
  });
};

const checkAnalytics = async (name: Target, volume: string, container: Container): Promise<void> => {
  const { output } = container.exec("latchkey", "doctor");
  const ask = () => call(volume, "analytics.getRatelimits", { query: "SELECT count(*) AS limits FROM ratelimits_v1" });
  if (name === "latchkey-slim") {
    assert.match(output, /analytics: none, and its procedures answer 412: the optional package chdb/);
    const { status, detail } = await ask();
    assert.equal(status, 412);
    assert.match(detail ?? "", /^This deployment has no analytics store: the optional package chdb/);
    return;
  }
  assert.match(output, /analytics: embedded engine, events in \/data\/analytics/);
  await until("the event of the call in analytics", async () => JSON.stringify((await ask()).data) === '[{"limits":1}]');
};

const checkProcesses = (container: Container): void => {
  const processes = container.exec("node", "-e", listProcesses).output.trim().split("\n");
  const first = processes.find((line) => line.startsWith("1 "));
  assert.match(first ?? "", /^1 \S 1000 node /, `PID 1 is ${first}`);
  assert.deepEqual(
    processes.filter((line) => !/^\d+ [^Z] 1000 /.test(line)),
    [],
    "of another user, or a zombie",
  );
};

const checkRun = async (name: Target, image: MountedImage): Promise<void> => {
  const volume = newVolume();
  let key = "";
  const verifies = async (): Promise<void> =>
    assert.equal(((await call(volume, "keys.verifyKey", { key })).data as { code?: string } | undefined)?.code, "VALID");

  await check(`${name}: the first start`, async () => {
    await using first = await startContainer(image, { volume });
    await untilReady(first);
    await check(`${name}: README's first calls`, () => {
      key = followReadme(volume);
    });
    await check(`${name}: analytics`, () => checkAnalytics(name, volume, first));
    await check(`${name}: its processes`, () => checkProcesses(first));
    await check(`${name}: HEALTHCHECK`, () => {
      const [, ...command] = image.config.Healthcheck.Test;
      assert.equal(first.exec(...command).code, 0);
      assert.equal(first.exec("env", "ADMIN_PORT=1", ...command).code, 1, "with nothing on the port");
    });
    await check(`${name}: commands`, () => {
      assert.deepEqual(first.exec("latchkey", "--version"), { code: 0, output: `${packageJson.version}\n` });
      const { code, output } = first.exec("latchkey", "--help");
      assert.equal(code, 0);
      assert.match(output, /serve/);
    });
    await check(`${name}: every module loads`, () => {
      const { code, output } = first.exec("node", "--input-type=module", "-e", loadAll);
      assert.equal(code, 0, output);
    });
    await stop(first);
    assert.deepEqual(first.written(), [], "written outside the volume and /tmp");
  });

  await check(`${name}: with a read-only root, on the same volume`, async () => {
    await using second = await startContainer(image, { volume, isReadOnly: true, isNew: true });
    await untilReady(second);
    await verifies();
    second.kill("SIGKILL");
    assert.equal(await second.exited, 137);
  });

  await check(`${name}: after a SIGKILL`, async () => {
    await using third = await startContainer(image, { volume, isReadOnly: true });
    await untilReady(third);
    await verifies();
    await stop(third);
  });
};

/** The program is the same in both targets: once is enough. */
const checkRefusals = async (image: MountedImage): Promise<void> => {
  const refuses = (what: string, options: Parameters<typeof startContainer>[1], reason: RegExp): Promise<void> =>
    check(what, async () => {
      await using container = await startContainer(image, { isReadOnly: true, ...options });
      assert.equal(await Promise.race([container.exited, sleep(20_000)]), 1, container.output());
      assert.match(container.output(), reason);
    });
  await refuses(
    "a volume of another user",
    { volume: newVolume(0) },
    /DATA_DIR: user 1000 may not read and write \/data: give it to that user/,
  );
  const ofRoot = newVolume();
  mkdirSync(join(ofRoot, "latchkey.sqlite"), { mode: 0o700 });
  await refuses("a file of another user", { volume: ofRoot }, /DATA_DIR: user 1000 may not read and write \/data\/latchkey\.sqlite/);
  await refuses("no volume", {}, /DATA_DIR: \/data is on a read-only file system: mount a volume there/);
  await refuses(
    "a DATA_DIR that cannot be made",
    { env: { DATA_DIR: "/nowhere/data" } },
    /DATA_DIR: \/nowhere is missing, and user 1000 may not make it in \/: make it for that user/,
  );
  const taken = createServer().listen(3000, "0.0.0.0");
  await refuses("a port that is taken", { volume: newVolume() }, /PORT.*3000/);
  taken.close();
  await check("SIGTERM during the start", async () => {
    await using container = await startContainer(image, { volume: newVolume(), isReadOnly: true });
    let ended = false;
    void container.exited.then(() => {
      ended = true;
    });
    // The kernel keeps a signal from PID 1 until something handles it, which takes Node a moment: so it is sent until it counts.
    const signalAgain = (): boolean => {
      if (!ended) container.kill("SIGTERM");
      return ended;
    };
    await until("ended", signalAgain);
    assert.doesNotMatch(container.output(), /service started/);
  });
};

const checkAll = async (): Promise<void> => {
  for (const name of targets) {
    using image = mountImage(name);
    await checkContents(name, image);
    await checkRun(name, image);
    if (name === "latchkey-slim") await checkRefusals(image);
  }
  console.log(`${checks} checks of ${targets.length} images, ${problems.length} failed`);
  for (const problem of problems) console.error(`failed: ${problem}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
};

const [mode] = process.argv.slice(2);
if (process.getuid?.() !== 0) throw new Error("npm run check:image needs root: it starts containers by itself");
if (mode === "inside") await checkAll();
else {
  if (mode !== "run") {
    removeImages();
    if (IMAGE_TOOL !== undefined) makeBase(IMAGE_TOOL);
    for (const target of targets) build(target);
  }
  // A network of its own, where the ports are free, and no control groups, which need an engine.
  const inside = 'ip link set lo up && mount -t tmpfs cgroup /sys/fs/cgroup && exec "$@"';
  if (mode !== "build") {
    const program = ["sh", "-c", inside, "sh", process.execPath, import.meta.filename, "inside"];
    execFileSync("unshare", ["--mount", "--net", "--propagation", "private", ...program], { stdio: "inherit" });
  }
}
