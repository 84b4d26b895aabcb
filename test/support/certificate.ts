import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** Makes a self-signed certificate for `localhost` and 127.0.0.1; replaces the one that the directory holds. */
export const createCertificate = (directory: string): CertificateFiles => {
  const files = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
  const request = [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
    ...["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
    ...["-keyout", files.key, "-out", files.cert],
  ];
  execFileSync("openssl", request, { stdio: "pipe" });
  return files;
};
