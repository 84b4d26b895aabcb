/** What a call to one node answers: its status, and its `data` when that is 200. */
export interface Reply {
  readonly status: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Calls one node, as the root key that may do everything unless another is given. */
export type CallNode = (procedure: string, body: object, rootKey?: string) => Promise<Reply>;

/** The node that changes something, and the command line beside it. */
export interface Writer {
  /** Rejects unless the answer is 200. */
  readonly call: (procedure: string, body: object) => Promise<Readonly<Record<string, unknown>>>;
  readonly command: (...args: readonly string[]) => Promise<void>;
}

/** A change that is about to be made. */
interface Prepared {
  readonly change: () => Promise<unknown>;
  /** Whether a node answers by it. */
  readonly seen: (call: CallNode) => Promise<boolean>;
}

/** One kind of change that a node has to hear of from another one (protocol §7, verify §12). */
export interface Kind {
  readonly name: string;
  readonly prepare: (writer: Writer) => Promise<Prepared>;
}

interface IssuedKey {
  readonly apiId: string;
  readonly keyId: string;
  readonly key: string;
}

let counter = 0;
const unique = (stem: string): string => `${stem}_${process.pid}_${++counter}`;

const issueKey = async ({ call }: Writer, fields: object = {}): Promise<IssuedKey> => {
  const { apiId } = await call("apis.createApi", { name: "visibility" });
  return { apiId, ...(await call("keys.createKey", { apiId, ...fields })) } as IssuedKey;
};

/** A change of or around a key, which shows in its verification. */
const ofKey = (
  name: string,
  fields: () => object,
  change: (writer: Writer, key: IssuedKey) => Promise<unknown>,
  seen: (verified: Reply["data"]) => boolean,
  request: object = {},
): Kind => ({
  name,
  prepare: async (writer) => {
    const key = await issueKey(writer, fields());
    return {
      change: () => change(writer, key),
      seen: async (call) => seen((await call("keys.verifyKey", { key: key.key, ...request })).data),
    };
  },
});

const withCode =
  (code: string) =>
  (verified: Reply["data"]): boolean =>
    verified.code === code;

const role = async (writer: Writer): Promise<string> => {
  const name = unique("role");
  await writer.call("permissions.createRole", { name, permissions: ["docs.read"] });
  return name;
};

/** A key that has a role of its own. */
const ofRole = (
  name: string,
  change: (writer: Writer, role: string) => Promise<unknown>,
  seen: (verified: Reply["data"]) => boolean,
): Kind => ({
  name,
  prepare: async (writer) => {
    const held = await role(writer);
    const { key } = await issueKey(writer, { roles: [held] });
    return { change: () => change(writer, held), seen: async (call) => seen((await call("keys.verifyKey", { key })).data) };
  },
});

/** A key that has a permission of its own. */
const ofPermission = (name: string, change: (writer: Writer, slug: string) => Promise<unknown>): Kind => ({
  name,
  prepare: async (writer) => {
    const slug = unique("docs.write");
    const { key } = await issueKey(writer, { permissions: [slug] });
    return {
      change: () => change(writer, slug),
      seen: async (call) => withCode("INSUFFICIENT_PERMISSIONS")((await call("keys.verifyKey", { key, permissions: slug })).data),
    };
  },
});

const ofRootKey = (name: string, change: (writer: Writer, keyId: unknown) => Promise<unknown>, status: number): Kind => ({
  name,
  prepare: async (writer) => {
    const { keyId, key } = await writer.call("rootKeys.createKey", { permissions: ["api.*.read_api"] });
    return {
      change: () => change(writer, keyId),
      seen: async (call) => (await call("apis.getApi", { apiId: "api_nothing1" }, key as string)).status === status,
    };
  },
});

const ofNamespace = (
  name: string,
  change: (writer: Writer, namespace: string) => Promise<unknown>,
  seen: (reply: Reply) => boolean,
): Kind => ({
  name,
  prepare: async (writer) => {
    const namespace = unique("visibility");
    const check = { namespace, identifier: "user", limit: 1_000_000, duration: 600_000, cost: 0 };
    await writer.call("ratelimit.limit", check);
    return { change: () => change(writer, namespace), seen: async (call) => seen(await call("ratelimit.limit", check)) };
  },
});

const identity = (): object => ({ externalId: unique("user") });
const externalIdOf = async ({ call }: Writer, { keyId }: IssuedKey): Promise<string> =>
  ((await call("keys.getKey", { keyId })).identity as { externalId: string }).externalId;

/** All of them. */
export const kinds: readonly Kind[] = [
  ofKey(
    "key",
    () => ({}),
    ({ call }, { keyId }) => call("keys.updateKey", { keyId, enabled: false }),
    withCode("DISABLED"),
  ),
  ofKey(
    "key, deleted",
    () => ({}),
    ({ call }, { keyId }) => call("keys.deleteKey", { keyId }),
    withCode("NOT_FOUND"),
  ),
  ofKey(
    "key, its permissions",
    () => ({ permissions: ["docs.read"] }),
    ({ call }, { keyId }) => call("keys.setPermissions", { keyId, permissions: [] }),
    withCode("INSUFFICIENT_PERMISSIONS"),
    { permissions: "docs.read" },
  ),
  ofKey(
    "credits",
    () => ({ credits: { remaining: 10 } }),
    ({ call }, { keyId }) => call("keys.updateCredits", { keyId, operation: "set", value: 1_000 }),
    ({ credits }) => credits === 1_000,
    { credits: { cost: 0 } },
  ),
  ofKey(
    "identity",
    identity,
    async (writer, key) => writer.call("identities.updateIdentity", { identity: await externalIdOf(writer, key), meta: { plan: "pro" } }),
    (verified) => (verified.identity as { meta?: unknown } | undefined)?.meta !== undefined,
  ),
  ofKey(
    "identity, deleted",
    identity,
    async (writer, key) => writer.call("identities.deleteIdentity", { identity: await externalIdOf(writer, key) }),
    (verified) => verified.identity === undefined,
  ),
  ofKey(
    "API, deleted",
    () => ({}),
    ({ call }, { apiId }) => call("apis.deleteApi", { apiId }),
    withCode("NOT_FOUND"),
  ),
  ofKey(
    "IP allow list",
    () => ({}),
    ({ command }, { apiId }) => command("api", "set-ip-allowlist", apiId, "192.0.2.1"),
    withCode("FORBIDDEN"),
  ),
  ofRole(
    "role",
    ({ call }, name) => call("permissions.setRolePermissions", { role: name, permissions: [] }),
    ({ permissions }) => permissions === undefined,
  ),
  ofRole(
    "role, renamed",
    ({ call }, name) => call("permissions.updateRole", { role: name, name: `${name} renamed` }),
    ({ roles }) => String(roles).endsWith(" renamed"),
  ),
  ofRole(
    "role, deleted",
    ({ call }, name) => call("permissions.deleteRole", { role: name }),
    ({ roles }) => roles === undefined,
  ),
  ofPermission("permission", ({ call }, slug) => call("permissions.updatePermission", { permission: slug, slug: `${slug}.renamed` })),
  ofPermission("permission, deleted", ({ call }, slug) => call("permissions.deletePermission", { permission: slug })),
  ofRootKey("root key", ({ call }, keyId) => call("rootKeys.updateKey", { keyId, permissions: ["api.*.create_api"] }), 403),
  ofRootKey("root key, rerolled", ({ call }, keyId) => call("rootKeys.rerollKey", { keyId, expiration: 0 }), 401),
  ofRootKey("root key, deleted", ({ call }, keyId) => call("rootKeys.deleteKey", { keyId }), 401),
  ofNamespace(
    "override",
    ({ call }, namespace) => call("ratelimit.setOverride", { namespace, identifier: "user", limit: 7, duration: 600_000 }),
    ({ data }) => data.limit === 7,
  ),
  ofNamespace(
    "namespace, deleted",
    ({ command }, namespace) => command("namespace", "delete", namespace, "--yes"),
    ({ status }) => status === 410,
  ),
];
