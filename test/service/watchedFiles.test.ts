// @same-on-every-engine
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, afterEach, expect, test } from "vitest";
import { createLog } from "../../src/platform/telemetry/log.ts";
import { createService, type Service, type Urls } from "../../src/service/createService.ts";
import { type TestEnvironment, testConfig } from "../support/api.ts";
import { createAuthority, type Issued } from "../support/authority.ts";
import { eventually } from "../support/eventually.ts";
import { engines } from "../support/stores.ts";

const [engine] = engines;
if (engine === undefined) throw new Error("there is no store to test on");
afterAll(() => engine.close());

const directory = mkdtempSync(join(tmpdir(), "latchkey-watched-"));
afterAll(() => rmSync(directory, { recursive: true }));

const authority = createAuthority("root");
const first = authority.issue("first", { names: "DNS:localhost,IP:127.0.0.1" });
const second = authority.issue("second", { names: "DNS:localhost,IP:127.0.0.1" });

let service: Service | undefined;
afterEach(() => service?.stop());

/** @param lookAtFilesEvery milliseconds. */
const start = async (env: TestEnvironment, lookAtFilesEvery: number): Promise<Urls & { readonly lines: Record<string, unknown>[] }> => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog("info", { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  service = await createService(testConfig(env), { store: await engine.open(), log, linger: 0, lookAtFilesEvery });
  return { ...(await service.start()), lines };
};

/** The name in the certificate that a new connection is shown. */
const nameAt = async (url: string, client?: Issued): Promise<unknown> => {
  const shown = client && { cert: client.cert, key: client.key };
  const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", rejectUnauthorized: false, ...shown });
  await once(socket, "secureConnect");
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return subject.CN;
};

/** The answer on a new connection; "" when it ends without one. */
const askAt = (url: string, path: string, client?: Issued): Promise<string> =>
  new Promise((resolve) => {
    const shown = client && { cert: client.cert, key: client.key };
    const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", rejectUnauthorized: false, ...shown });
    let text = "";
    socket.on("error", () => undefined).on("data", (data) => (text += String(data)));
    socket.on("close", () => resolve(text));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost:${new URL(url).port}\r\nConnection: close\r\n\r\n`);
  });

/** Mounts a Secret as the kubelet does: the files stay links through `..data`, which is turned to another directory at once. */
const mount = (folder: string, version: string, { certFile, keyFile }: Pick<Issued, "certFile" | "keyFile">): void => {
  const held = join(folder, `..${version}`);
  mkdirSync(held, { recursive: true });
  copyFileSync(certFile, join(held, "tls.crt"));
  copyFileSync(keyFile, join(held, "tls.key"));
  copyFileSync(authority.certFile, join(held, "ca.crt"));
  symlinkSync(`..${version}`, join(folder, "..next"));
  renameSync(join(folder, "..next"), join(folder, "..data"));
};

test("files that are replaced count for new connections on both ports; what cannot be used is one warning and a metric", async () => {
  const folder = join(directory, "tls");
  mount(folder, "1", first);
  for (const name of ["tls.crt", "tls.key", "ca.crt"]) symlinkSync(`..data/${name}`, join(folder, name));
  const [cert, key] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  const { url, adminUrl, lines } = await start({ TLS_CERT: cert, TLS_KEY: key, ADMIN_TLS_CERT: cert, ADMIN_TLS_KEY: key }, 20);
  expect([adminUrl.split(":")[0], await nameAt(url), await nameAt(adminUrl)]).toEqual(["https", "first", "first"]);
  const metrics = await askAt(adminUrl, "/metrics");
  expect(metrics).toMatch(/latchkey_tls_certificate_expiry_timestamp_seconds\{port="admin"\} \d{10}/);
  expect(metrics).toContain('latchkey_file_reload_failed{files="service_tls",reason="key_mismatch"} 0');

  mount(folder, "2", second);
  await eventually(async () => expect([await nameAt(url), await nameAt(adminUrl)]).toEqual(["second", "second"]));
  mount(folder, "3", { certFile: first.certFile, keyFile: second.keyFile });
  const failed = 'latchkey_file_reload_failed{files="service_tls",reason="key_mismatch"} 1';
  await eventually(async () => expect(await askAt(adminUrl, "/metrics")).toContain(failed));
  const warnings = (): unknown[] => lines.filter(({ msg, files }) => msg === "TLS certificate not reloaded" && files === "service_tls");
  const mend = "name the two files of one certificate, its own before those of its issuers";
  expect(warnings()).toMatchObject([
    {
      level: "warn",
      reason: "key_mismatch",
      problem: `TLS_KEY: "${key}" is not the private key of the first certificate in TLS_CERT: "${cert}": ${mend}`,
    },
  ]);
  expect(await nameAt(url)).toBe("second");
  mount(folder, "4", first);
  await eventually(async () => expect(await nameAt(url)).toBe("first"));
  expect(warnings()).toHaveLength(1);
  expect(await askAt(adminUrl, "/metrics")).not.toContain(failed);
});

test("clients without a certificate are counted and logged; the console's port asks for one as well, probes do not; another authority counts", async () => {
  const authorities = join(directory, "authorities.crt");
  copyFileSync(authority.certFile, authorities);
  const env = { TLS_CERT: first.certFile, TLS_KEY: first.keyFile, TLS_CLIENT_CA: authorities, CONSOLE: "on", CONSOLE_PORT: "0" };
  const { url, consoleUrl, adminUrl, lines } = await start({ ...env, TLS_CLIENT_ALLOWED_SANS: "DNS:localhost" }, 20);
  expect(await askAt(url, "/v2/liveness", second)).toContain("200 OK");
  expect(await askAt(String(consoleUrl), "/ui", second)).toContain("200 OK");
  expect([await askAt(url, "/v2/liveness"), await askAt(String(consoleUrl), "/ui")]).toEqual(["", ""]);
  expect(await askAt(url, "/v2/liveness", authority.issue("other", { names: "DNS:other.test" }))).toBe("");
  expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200);
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  expect(metrics).toContain('latchkey_tls_clients_refused_total{port="service",reason="no_certificate"} 2');
  expect(metrics).toContain('latchkey_tls_clients_refused_total{port="service",reason="name"} 1');
  expect(lines.filter(({ msg }) => msg === "client refused: its certificate")).toMatchObject([
    { level: "warn", port: "service", reason: "no_certificate", address: "127.0.0.1" },
    { level: "warn", port: "service", reason: "name", address: "127.0.0.1", names: "DNS:other.test" },
  ]);

  const next = createAuthority("next");
  copyFileSync(next.certFile, authorities);
  await eventually(async () => expect(await askAt(url, "/v2/liveness", second)).toBe(""));
  expect(await askAt(String(consoleUrl), "/ui", second)).toBe("");
  expect(await askAt(url, "/v2/liveness", next.issue("client", { names: "DNS:localhost" }))).toContain("200 OK");
});

test("the admin token is read again, also by a reload; one that cannot be used leaves the old one", async () => {
  const file = join(directory, "token");
  writeFileSync(file, "the-first-admin-token\n");
  const { adminUrl, lines } = await start({ ADMIN_TOKEN: "the-first-admin-token", ADMIN_TOKEN_FILE: file }, 20);
  const statusWith = async (token: string): Promise<number> =>
    (await fetch(`${adminUrl}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect([await statusWith("the-first-admin-token"), (await fetch(`${adminUrl}/metrics`)).status]).toEqual([200, 401]);
  writeFileSync(file, "the-second-admin-token\n");
  await eventually(async () => expect(await statusWith("the-second-admin-token")).toBe(200));
  expect(await statusWith("the-first-admin-token")).toBe(401);
  writeFileSync(file, "short\n");
  await service?.reloadFiles();
  expect(await statusWith("the-second-admin-token")).toBe(200);
  expect(lines.find(({ msg }) => msg === "admin token not reloaded")).toMatchObject({ level: "warn", reason: "malformed" });
  expect(JSON.stringify(lines)).not.toMatch(/admin-token|"short/);
});
