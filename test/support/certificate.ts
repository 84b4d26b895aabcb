import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** Makes a self-signed certificate for `localhost` and 127.0.0.1; replaces the one that the directory holds. */
export const createCertificate = async (directory: string): Promise<CertificateFiles> => {
  const files = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
  await promisify(execFile)("openssl", [
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
    ...["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
    ...["-keyout", files.key, "-out", files.cert],
  ]);
  return files;
};
