import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownRoot } from "../processes.ts";

/** Another revision in a git worktree of its own. */
export interface Checkout {
  readonly root: string;
  /** Abbreviated hash of the commit. */
  readonly commit: string;
  readonly remove: () => void;
}

const git = (...args: string[]): string =>
  execFileSync("git", ["-C", ownRoot, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();

const LOCK = "package-lock.json";

/** Only what runs: no development tools, no engine of analytics, no programs of packages. */
const INSTALL = ["ci", "--ignore-scripts", "--omit=dev", "--omit=optional", "--no-audit", "--no-fund"];

/**
 * Checks a revision out into a temporary directory, with its dependencies: this checkout's when both lock files are the same,
 * installed by `npm ci` otherwise.
 * @param say gets a line for each step.
 */
export const checkOut = (revision: string, say: (line: string) => void): Checkout => {
  const hash = git("rev-parse", "--verify", `${revision}^{commit}`);
  const commit = git("rev-parse", "--short", hash);
  const root = join(mkdtempSync(join(tmpdir(), "latchkey-compare-")), "checkout");
  const remove = (): void => {
    rmSync(join(root, ".."), { recursive: true, force: true });
    git("worktree", "prune");
  };
  try {
    say(`checking ${commit} out into ${root}`);
    git("worktree", "add", "--detach", root, hash);
    if (readFileSync(join(root, LOCK), "utf8") === readFileSync(join(ownRoot, LOCK), "utf8")) {
      say("linking node_modules of this checkout: both have the same package-lock.json");
      symlinkSync(join(ownRoot, "node_modules"), join(root, "node_modules"));
    } else {
      say(`installing its dependencies: npm ${INSTALL.join(" ")}`);
      execFileSync("npm", INSTALL, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
    }
    return { root, commit, remove };
  } catch (cause) {
    remove();
    throw cause;
  }
};
