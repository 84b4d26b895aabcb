import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { type Attack, type Attacker, type AttackTarget, onLines } from "./attack.ts";
import { type AttackBody, attackBodies } from "./bodies.ts";

const MEBIBYTE = 1024 * 1024;
const CONNECTIONS = 8;

interface Message {
  readonly path: string;
  readonly rootKey: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const headersOf = ({ edge, compression }: AttackBody): Record<string, string> => ({
  "content-type": edge === "binary" ? "application/proto" : "application/json",
  ...(compression === "gzip" && { "content-encoding": "gzip" }),
});

const pathOf = ({ procedure, edge }: AttackBody): string => {
  const [namespace = "", method = ""] = procedure.split(".");
  const upper = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
  return edge === "v2" ? `/v2/${procedure}` : `/latchkey.v2.${upper(namespace)}Service/${upper(method)}`;
};

/** Sends messages one after the other on several connections. */
const sendAll = async (attacker: Attacker, next: () => Message): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  await onLines(CONNECTIONS, attacker, () => {
    const { path, rootKey, headers, body } = next();
    return new Promise((resolve, reject) => {
      const own = { ...headers, authorization: `Bearer ${rootKey}`, "content-length": body.length };
      const call = request(attacker.target.url + path, { agent, method: "POST", headers: own }, (response) => {
        attacker.count(response.statusCode ?? 0);
        response.resume();
        response.on("end", resolve).on("error", reject);
      });
      call.on("error", reject);
      call.end(body);
    });
  });
};

/** Sends the bodies in turns, from a root key that may not call their procedures. `room`: the bytes of those without a length of their own. */
const bodiesOf = (name: string, description: string, bodies: readonly AttackBody[], room?: number): Attack => ({
  name,
  description,
  run: async (attacker) => {
    const rootKey = attacker.target.useless;
    const messages = bodies.map((body): Message => ({ path: pathOf(body), rootKey, headers: headersOf(body), body: body.bytes(room) }));
    let sent = 0;
    await sendAll(attacker, () => messages[sent++ % messages.length] as Message);
  },
});

const call = async ({ url, rootKey }: AttackTarget, procedure: string, body: object): Promise<Record<string, string>> => {
  const headers = { authorization: `Bearer ${rootKey}`, "content-type": "application/json" };
  const response = await fetch(`${url}/v2/${procedure}`, { method: "POST", headers, body: JSON.stringify(body) });
  const { data } = (await response.json()) as { data?: Record<string, string> };
  if (data === undefined) throw new Error(`${procedure} answered ${response.status}`);
  return data;
};

/** Imports of 10 MiB that are accepted, of so many keys each, one after the other. */
const importsOf = (name: string, description: string, keys: number): Attack => ({
  name,
  description,
  run: async (attacker) => {
    const { target, count } = attacker;
    const { apiId } = await call(target, "apis.createApi", { name: "imported" });
    const { migrationId } = await call(target, "migrations.createMigration", { algorithm: "sha256" });
    const length = Math.floor((10 * MEBIBYTE - 1_000) / keys) - '{"hash":""},'.length;
    await onLines(1, attacker, async () => {
      const batch = randomUUID();
      const items = Array.from({ length: keys }, (_, i) => ({ hash: `${batch}${i}`.padEnd(length, "x") }));
      const body = JSON.stringify({ migrationId, apiId, keys: items });
      const headers = { authorization: `Bearer ${target.rootKey}`, "content-type": "application/json" };
      const response = await fetch(`${target.url}/v2/keys.migrateKeys`, { method: "POST", headers, body });
      await response.arrayBuffer();
      count(response.status);
    });
  },
});

const json = attackBodies.filter(({ edge }) => edge === "v2");
const binary = attackBodies.filter(({ edge }) => edge === "binary");
const named = (name: string): AttackBody[] => attackBodies.filter((body) => body.name === name && body.edge === "v2");

/** Measures how decoding large bodies delays other callers. */
export const largeBodyAttacks: readonly Attack[] = [
  bodiesOf("bodies-2mib", "8 bodies of up to 2 MiB of each kind, on /v2", json, 2 * MEBIBYTE),
  bodiesOf("bodies-2mib-binary", "8 bodies of up to 2 MiB of each kind, in the binary form", binary, 2 * MEBIBYTE),
  bodiesOf("nested-meta", "8 bodies with a mebibyte of nested metadata", named("the legal 3,600 objects of 25 members")),
  bodiesOf(
    "wide-meta",
    "8 bodies with a mebibyte of metadata, one object of 95,000 members",
    named("the legal 95,000 members of one object, in no order"),
  ),
  bodiesOf(
    "bodies-10mib",
    "8 bodies of 10 MiB that are refused, on every edge",
    [...json, ...binary].filter(({ status }) => status === 400),
  ),
  importsOf("import-10mib", "accepted imports of 10 MiB and 10,000 keys, one after the other", 10_000),
  importsOf("import-most", "accepted imports of 10 MiB and the most keys that there may be, one after the other", 49_000),
];
