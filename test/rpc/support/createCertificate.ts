import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A fresh self-signed certificate for `localhost` with a name to tell it by, made by the openssl command. */
export const createCertificateFiles = (commonName: string): CertificateFiles => {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-tls-"));
  const files = { certFile: join(directory, "tls.crt"), keyFile: join(directory, "tls.key") };
  const request = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=${commonName}`;
  execFileSync("openssl", [...request.split(" "), "-keyout", files.keyFile, "-out", files.certFile], { stdio: "pipe" });
  return files;
};
