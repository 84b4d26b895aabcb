import { readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { freePort } from "../harness/freePort.ts";
import { eventually, startProgram } from "./startProgram.ts";

/** The name of the header that tells calls apart in the log. */
export const CALL_HEADER = "x-rehearsal-call";

/** What nginx did with one call. */
export interface ForwardedCall {
  readonly id: string;
  /** `host:port` of each node that was tried, in turn. */
  readonly nodes: readonly string[];
  /** Bytes that were sent to each. */
  readonly sent: readonly number[];
}

export interface Nginx extends AsyncDisposable {
  /** `https://localhost:<port>`, for JSON and gRPC. */
  readonly url: string;
  /** What was logged so far of calls with an id. */
  readonly calls: () => readonly ForwardedCall[];
}

const deployed = join(import.meta.dirname, "../../deploy/nginx/latchkey.conf");

/** Replaces each of these texts of the deployed file; fails when one is not there. */
const adapt = (text: string, changes: readonly (readonly [string, string])[]): string =>
  changes.reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`deploy/nginx/latchkey.conf has no "${from}" any more, which the rehearsal replaces`);
    return changed.replaceAll(from, to);
  }, text);

/** The deployed file with other addresses. @param nodes `host:port` of three. @param directory of the certificate. */
export const siteFor = (port: number, nodes: readonly string[], directory: string): string =>
  adapt(readFileSync(deployed, "utf8"), [
    ...nodes.map((node, i) => [`latchkey-${i + 1}:3000`, node] as const),
    ["listen 443 ", `listen 127.0.0.1:${port} `],
    ["/etc/nginx/tls/fullchain.pem", join(directory, "cert.pem")],
    ["/etc/nginx/tls/privkey.pem", join(directory, "key.pem")],
  ]);

const readCalls = (log: string): ForwardedCall[] =>
  readFileSync(log, "utf8")
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      const [id = "-", nodes = "", sent = ""] = line.split("|");
      const list = (text: string): string[] => text.split(/[,:] +/);
      return id === "-" ? [] : [{ id, nodes: list(nodes), sent: list(sent).map((bytes) => (bytes === "-" ? 0 : Number(bytes))) }];
    });

/**
 * Starts nginx with the file that is deployed, on a loopback port, in front of three nodes.
 * @param directory holds a certificate for `localhost`, `cert.pem` and `key.pem`, and gets all that nginx writes.
 * @param nodes `host:port` of each.
 */
export const startNginx = async (directory: string, nodes: readonly string[]): Promise<Nginx> => {
  const port = await freePort();
  const [log, config] = [join(directory, "access.log"), join(directory, "nginx.conf")];
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((of) => `${of}_temp_path ${directory}/${of};`).join("\n");
  const variable = `$http_${CALL_HEADER.replaceAll("-", "_")}`;
  writeFileSync(
    config,
    `${userInfo().uid === 0 ? "user root;\n" : ""}daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log;
events {}
http {
log_format rehearsal '${variable}|$upstream_addr|$upstream_bytes_sent';
access_log ${log} rehearsal;
${temporary}
${siteFor(port, nodes, directory)}
}
`,
  );
  const program = await startProgram("nginx", ["-p", directory, "-c", config, "-e", join(directory, "error.log")]);
  const url = `https://localhost:${port}`;
  await eventually("nginx answers", 10, async () => {
    if (program.hasEnded()) throw new Error(`nginx ended: ${program.complaints()}`);
    // The certificate is its own authority, which fetch does not know: that it is refused for this is an answer.
    const refusal = await fetch(url).then(
      () => undefined,
      (error: Error) => (error.cause as NodeJS.ErrnoException | undefined)?.code,
    );
    return refusal === "ECONNREFUSED" ? undefined : true;
  });
  return { url, calls: () => readCalls(log), [Symbol.asyncDispose]: () => program[Symbol.asyncDispose]() };
};
