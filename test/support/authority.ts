import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate and its private key, and the files that hold them. */
export interface Issued {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: Buffer;
  readonly key: Buffer;
}

interface IssueOptions {
  /** As openssl has them: `DNS:…,URI:…`; none unless given. */
  readonly names?: string;
  /** Extended key usage, such as `serverAuth`; none unless given. */
  readonly usage?: string;
  /** From now on; negative for a certificate that has expired. */
  readonly days?: number;
  readonly isAuthority?: boolean;
}

/** A certificate authority of a test. */
export interface Authority extends Issued {
  readonly issue: (name: string, options?: IssueOptions) => Issued;
  readonly issueAuthority: (name: string) => Authority;
}

const openssl = (...args: readonly string[]): void => void execFileSync("openssl", args, { stdio: "pipe" });
const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

const filesIn = (directory: string, name: string): { readonly certFile: string; readonly keyFile: string } => ({
  certFile: join(directory, `${name}.crt`),
  keyFile: join(directory, `${name}.key`),
});

const read = (files: Pick<Issued, "certFile" | "keyFile">): Issued => ({
  ...files,
  cert: readFileSync(files.certFile),
  key: readFileSync(files.keyFile),
});

const issueBy =
  (directory: string, authority: Issued): Authority["issue"] =>
  (name, { names, usage, days = 2, isAuthority = false } = {}) => {
    const files = filesIn(directory, name);
    const request = join(directory, `${name}.csr`);
    const extensions = join(directory, `${name}.ext`);
    const lines = [
      `basicConstraints=CA:${isAuthority ? "TRUE" : "FALSE"}`,
      ...(names === undefined ? [] : [`subjectAltName=${names}`]),
      ...(usage === undefined ? [] : [`extendedKeyUsage=${usage}`]),
    ];
    writeFileSync(extensions, `${lines.join("\n")}\n`);
    openssl("req", "-new", ...newKey, "-subj", `/CN=${name}`, "-keyout", files.keyFile, "-out", request);
    const by = ["-CA", authority.certFile, "-CAkey", authority.keyFile, "-CAcreateserial"];
    openssl("x509", "-req", "-in", request, ...by, "-days", String(days), "-extfile", extensions, "-out", files.certFile);
    return read(files);
  };

const asAuthority = (directory: string, issued: Issued): Authority => {
  const issue = issueBy(directory, issued);
  return { ...issued, issue, issueAuthority: (name) => asAuthority(directory, issue(name, { isAuthority: true })) };
};

/** A new root, made by the openssl command in a directory of its own. */
export const createAuthority = (name: string): Authority => {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-authority-"));
  const files = filesIn(directory, name);
  openssl("req", "-x509", ...newKey, "-days", "2", "-subj", `/CN=${name}`, "-keyout", files.keyFile, "-out", files.certFile);
  return asAuthority(directory, read(files));
};
