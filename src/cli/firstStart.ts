import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { systemSource } from "../features/audit/auditEvent.ts";
import { createAuditLogRepository } from "../features/audit/auditLogRepository.ts";
import { createRootKey } from "../features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository } from "../features/rootKeys/rootKeysRepository.ts";
import { createId } from "../platform/base/ids.ts";
import { hashKey } from "../platform/secrets/keySecret.ts";
import { createRootKeySecret } from "../platform/secrets/rootKeySecret.ts";
import type { Secret } from "../platform/secrets/secret.ts";
import type { Store } from "../platform/storage/port/store.ts";

/** Nobody has ever made a root key, or anything else: every change leaves an audit event, also of what is deleted. */
export const isUntouched = async (store: Store): Promise<boolean> => {
  const auditLog = createAuditLogRepository(store);
  return (
    (await createRootKeysRepository(store).list()).length === 0 &&
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
  // Else a power cut could take the name away again, while the store's own commit stays.
  const directory = await open(dirname(file));
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
};

export interface FirstRootKey {
  readonly rootKeyId: string;
  /** Absolute path of the file that holds it. */
  readonly file: string;
}

const fileIn = (dataDir: string): string => resolve(join(dataDir, "root-key"));

/**
 * On the very first start with the embedded store: makes a root key that may do everything and writes it to `root-key`
 * in `dataDir`, mode 0600. Returns undefined on every later start, also when that root key is gone. The file comes
 * first: whatever ends the process in between, no store is left with a root key that nobody knows.
 */
export const createFirstRootKey = async (store: Store, dataDir: string): Promise<FirstRootKey | undefined> => {
  if (!(await isUntouched(store))) return undefined;
  const file = fileIn(dataDir);
  const secret = createRootKeySecret();
  try {
    await writePrivately(file, secret.key);
  } catch (error) {
    throw new Error(
      `the first root key cannot be written to ${file}, so none was made: make room for that file and start again, or make a root key by "latchkey root-key create"`,
      { cause: error },
    );
  }
  const source = systemSource(store.clock);
  const identity = { rootKeyId: createId("rk", source.now), secret };
  const { rootKeyId } = await createRootKey(createRootKeysRepository(store), { name: "first start" }, source, identity);
  return { rootKeyId, file };
};

/** The file of the first start's root key, as long as nobody has ever used that one: its owner may not have seen the first greeting. */
export const findUnusedFirstRootKey = async (store: Store, dataDir: string): Promise<string | undefined> => {
  const file = fileIn(dataDir);
  const text = await readFile(file, "utf8").catch(() => "");
  const rootKey = await createRootKeysRepository(store).findByHash(hashKey(text.trim()));
  return rootKey?.enabled && rootKey.lastUsedAt === undefined ? file : undefined;
};

/** Quoted for a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The addresses that stand for all of a machine's are none to connect to. */
export const reachable = (url: string): string => url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");

/** A command line that creates an API with the root key in `file`; works in any directory. */
export const createApiCommand = (url: string, file: string): string =>
  `curl -sS ${reachable(url)}/v2/apis.createApi -H "Authorization: Bearer $(cat ${quote(file)})" -H 'Content-Type: application/json' -d '{"name":"my-first-api"}'`;
