import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The part of an image's configuration that starts a container, as in `docker inspect`. */
interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly StopSignal: string;
  readonly Volumes: Readonly<Record<string, object>>;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

/** An image of buildah's store, with its files in a directory until it is disposed of. */
export interface MountedImage extends Disposable {
  readonly config: ImageConfig;
  readonly root: string;
}

const buildah = (...args: readonly string[]): string => execFileSync("buildah", ["--storage-driver", "vfs", ...args], { encoding: "utf8" });

export const mountImage = (tag: string): MountedImage => {
  const { Docker } = JSON.parse(buildah("inspect", "--type", "image", tag)) as { Docker: { config: ImageConfig } };
  const container = buildah("from", "--pull-never", tag).trim();
  const root = buildah("mount", container).trim();
  return { config: Docker.config, root, [Symbol.dispose]: () => void buildah("rm", container) };
};

export interface ContainerOptions {
  /** Instead of the image's `CMD`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A directory of this machine to mount as the image's volume. Unset: an empty directory of the image. */
  readonly volume?: string;
  /** As Kubernetes and compose start it, with `/tmp` in memory. Otherwise what is written to the root is kept apart. */
  readonly isReadOnly?: boolean;
  /** Without what Node compiled in the ones before. */
  readonly isNew?: boolean;
}

/** Ends at once when it is disposed of. */
export interface Container extends AsyncDisposable {
  /** Standard output and standard error so far. */
  readonly output: () => string;
  /** The code of PID 1, 128 and the number of the signal that ended it. */
  readonly exited: Promise<number>;
  /** Of PID 1, on this machine. */
  readonly pid: () => number;
  /** Does nothing when it has ended. */
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Another process in the container, as `docker exec` starts it. */
  readonly exec: (...args: readonly string[]) => { readonly code: number | null; readonly output: string };
  /** Paths below the root that were made or changed, but for the volume and `/tmp`. */
  readonly written: () => readonly string[];
}

const crun = ["--cgroup-manager=disabled"];
let started = 0;

/** What Node compiled in one container is there in the next, as after a restart of the same: each would take half a second for it. */
const compiled = mkdtempSync(join(tmpdir(), "latchkey-compiled-"));
process.on("exit", () => rmSync(compiled, { recursive: true, force: true }));

/**
 * Starts an image as an engine would: its user, command and environment; PID 1 of its own; no capabilities. It shares the network of the
 * caller, who has to be root in a mount namespace of its own.
 */
export const startContainer = async (
  { config, root }: MountedImage,
  { args = config.Cmd, env = {}, volume, isReadOnly = false, isNew = false }: ContainerOptions = {},
): Promise<Container> => {
  const bundle = mkdtempSync(join(tmpdir(), "latchkey-container-"));
  const at = (name: string): string => join(bundle, name);
  for (const name of ["upper", "work", "root", "tmp"]) mkdirSync(at(name));
  execFileSync("chmod", ["1777", at("tmp")]);
  const layers = `lowerdir=${root},upperdir=${at("upper")},workdir=${at("work")}`;
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", layers, at("root")]);
  const [uid, gid] = config.User.split(":").map(Number);
  const tmpfs = (destination: string, ...options: readonly string[]) => ({ destination, type: "tmpfs", source: "tmpfs", options });
  const bind = (destination: string, source: string) => ({ destination, type: "bind", source, options: ["rbind", "rw"] });
  const cache = config.Env.find((each) => each.startsWith("NODE_COMPILE_CACHE="))?.replace(/^.*?=/, "") ?? "/tmp/node-compile-cache";
  chownSync(compiled, Number(uid), Number(gid));
  const [declared = ""] = Object.keys(config.Volumes);
  const settings = { ...config, Env: [...config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)] };
  const specification = {
    ociVersion: "1.0.0",
    process: {
      user: { uid, gid },
      args: [...config.Entrypoint, ...args],
      env: settings.Env,
      cwd: config.WorkingDir,
      noNewPrivileges: true,
      capabilities: {},
    },
    root: { path: at("root"), readonly: isReadOnly },
    mounts: [
      { destination: "/proc", type: "proc", source: "proc" },
      tmpfs("/dev", "nosuid", "mode=755"),
      isReadOnly ? tmpfs("/tmp", "nosuid", "nodev", "mode=1777") : bind("/tmp", at("tmp")),
      ...(isNew ? [] : [bind(cache, compiled)]),
      ...(volume === undefined ? [] : [bind(declared, volume)]),
    ],
    linux: { namespaces: [{ type: "pid" }, { type: "mount" }, { type: "ipc" }, { type: "uts" }] },
  };
  writeFileSync(at("config.json"), JSON.stringify(specification));
  const id = `latchkey-check-${process.pid}-${++started}`;
  const child = spawn("crun", [...crun, "run", "--bundle", bundle, "--pid-file", at("pid"), id], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const exited = once(child, "close").then(([code]) => code as number);
  const pid = (): number => Number(readFileSync(at("pid"), "utf8"));
  while (child.exitCode === null && !readdirSync(bundle).includes("pid")) await sleep(10);
  return {
    output: () => output,
    exited,
    pid,
    kill: (signal) => {
      try {
        process.kill(pid(), signal);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    },
    exec: (...command) => {
      const { status, stdout, stderr } = spawnSync("crun", [...crun, "exec", "--user", config.User, id, ...command], { encoding: "utf8" });
      return { code: status, output: stdout + stderr };
    },
    written: () => {
      const all = readdirSync(at("upper"), { recursive: true, encoding: "utf8" });
      // The runtime makes the places of its mounts.
      return all.filter((path) => !/^(?:proc|dev|tmp|data)(?:\/|$)/.test(path));
    },
    [Symbol.asyncDispose]: async () => {
      spawnSync("crun", [...crun, "delete", "--force", id], { stdio: "ignore" });
      await exited;
      execFileSync("umount", [at("root")]);
      rmSync(bundle, { recursive: true });
    },
  };
};
