import { open, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { systemSource } from "../audit/auditEvent.ts";
import type { Clock } from "../domain/clock.ts";
import type { Secret } from "../domain/secret.ts";
import { createRootKey } from "../rootKeys/rootKeys.ts";
import { createAuditLogRepository } from "../storage/auditLog.ts";
import { createRootKeysRepository } from "../storage/rootKeys.ts";
import type { Store } from "../storage/store.ts";

/** Nobody has ever made a root key, or anything else: every change leaves an audit event, also of what is deleted. */
export const isUntouched = async (store: Store): Promise<boolean> => {
  const auditLog = createAuditLogRepository(store);
  return (
    (await createRootKeysRepository(store, () => undefined).list()).length === 0 &&
    (await auditLog.findPending("rootKeys", 1)).length === 0 &&
    (await auditLog.head()) === null
  );
};

/** Readable for its owner only, and either complete or not there. */
const writePrivately = async (file: string, key: Secret): Promise<void> => {
  const draft = `${file}.new`;
  await rm(draft, { force: true });
  const handle = await open(draft, "wx", 0o600);
  try {
    await handle.writeFile(`${key.reveal()}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
};

export interface FirstRootKey {
  readonly rootKeyId: string;
  /** Absolute path of the file that holds it. */
  readonly file: string;
}

/**
 * On the very first start with the embedded store: makes a root key that may do everything and writes it to `root-key`
 * in `dataDir`, mode 0600. Returns undefined on every later start, also when that root key is gone.
 */
export const createFirstRootKey = async (store: Store, dataDir: string, clock: Clock): Promise<FirstRootKey | undefined> => {
  if (!(await isUntouched(store))) return undefined;
  const rootKeys = createRootKeysRepository(store, () => undefined);
  const { rootKeyId, key } = await createRootKey(rootKeys, { name: "first start" }, systemSource(clock));
  const file = resolve(join(dataDir, "root-key"));
  await writePrivately(file, key);
  return { rootKeyId, file };
};

/** Quoted for a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The addresses that stand for all of a machine's are none to connect to. */
const reachable = (url: string): string => url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");

/** A command line that creates an API with the root key in `file`; works in any directory. */
export const createApiCommand = (url: string, file: string): string =>
  `curl -sS ${reachable(url)}/v2/apis.createApi -H "Authorization: Bearer $(cat ${quote(file)})" -H 'Content-Type: application/json' -d '{"name":"my-first-api"}'`;
