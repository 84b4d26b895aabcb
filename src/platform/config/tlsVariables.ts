import { parseSubjectName, type SubjectName } from "../base/subjectNames.ts";
import { type Parser, type Reading, text, type Variables } from "./parsers.ts";

/** Paths of PEM files, and which clients they let in. */
export interface TlsFiles {
  /** What the names of the port's settings begin with. */
  readonly settings: "TLS" | "ADMIN_TLS";
  readonly certFile: string;
  readonly keyFile: string;
  /** Clients must show a certificate that one of these authorities issued; absent = they need none. */
  readonly clientCaFile: string | undefined;
  /** Names of which a client's certificate must have one; absent = whichever. */
  readonly allowedNames: readonly SubjectName[] | undefined;
}

const subjectNames: Parser<readonly SubjectName[]> = (value) => {
  const names = value.split(",").map((each) => parseSubjectName(each.trim()));
  const known = names.filter((name) => name !== undefined);
  return known.length === names.length
    ? { value: known }
    : {
        expected:
          "names such as DNS:billing.example.com, DNS:*.example.com, URI:spiffe://example.com/billing or email:ops@example.com, separated by commas; a * may only stand for the first label of a DNS name",
      };
};

const variables = {
  TLS_CERT: {
    description:
      "PEM file with the certificate chain; with `TLS_KEY` the service port speaks TLS only. Files of TLS are watched: what replaces them counts for new connections within seconds.",
    parse: text,
  },
  TLS_KEY: { description: "PEM file with the private key of `TLS_CERT`.", parse: text },
  TLS_CLIENT_CA: {
    description:
      "PEM file with certificate authorities, up to their roots: every client of the service and the console must show a certificate that one of them issued. Watched.",
    parse: text,
  },
  TLS_CLIENT_ALLOWED_SANS: {
    description:
      "Subject alternative names of which a client's certificate must have one, comma-separated: `DNS:*.example.com`, `URI:spiffe://example.com/billing`, `email:ops@example.com`. Any certificate of `TLS_CLIENT_CA` will do when unset.",
    parse: subjectNames,
  },
  ADMIN_TLS_CERT: {
    description:
      "PEM file with the certificate chain of the admin port; with `ADMIN_TLS_KEY` it speaks TLS only, probes included. May be the file of `TLS_CERT`. Watched.",
    parse: text,
  },
  ADMIN_TLS_KEY: {
    description: "PEM file with the private key of `ADMIN_TLS_CERT`.",
    parse: text,
  },
  ADMIN_TLS_CLIENT_CA: {
    description:
      "As `TLS_CLIENT_CA`, for `/metrics` and `/profiles` on the admin port; `/livez` and `/readyz` need no certificate. With `ADMIN_TOKEN` both are needed.",
    parse: text,
  },
  ADMIN_TLS_CLIENT_ALLOWED_SANS: {
    description: "As `TLS_CLIENT_ALLOWED_SANS`, for the clients of the admin port.",
    parse: subjectNames,
  },
} as const satisfies Variables;

/** Variables of TLS. */
export const tlsVariables: Variables = variables;

/** What a port speaks TLS with; undefined where it does not. Notes what does not fit together. */
const readPort = ({ env, read, problems }: Reading, settings: TlsFiles["settings"]): TlsFiles | undefined => {
  const [cert, key, clientCa, allowed] = [
    `${settings}_CERT`,
    `${settings}_KEY`,
    `${settings}_CLIENT_CA`,
    `${settings}_CLIENT_ALLOWED_SANS`,
  ] as const;
  const [certFile, keyFile, clientCaFile] = [read(variables, cert), read(variables, key), read(variables, clientCa)];
  const allowedNames = read(variables, allowed);
  const isSet = (name: string): boolean => env[name] !== undefined;
  if (isSet(cert) !== isSet(key)) problems.set(settings, `${cert} and ${key}: set both or neither`);
  else if (isSet(clientCa) && !isSet(cert))
    problems.set(settings, `${clientCa} needs ${cert} and ${key}: clients can show certificates over TLS only`);
  if (isSet(allowed) && !isSet(clientCa))
    problems.set(`${settings} names`, `${allowed} needs ${clientCa}, the authorities whose certificates count`);
  return certFile !== undefined && keyFile !== undefined ? { settings, certFile, keyFile, clientCaFile, allowedNames } : undefined;
};

/** TLS of the service port, and of the console's. */
export const readServiceTls = (reading: Reading): TlsFiles | undefined => readPort(reading, "TLS");

/** TLS of the admin port. */
export const readAdminTls = (reading: Reading): TlsFiles | undefined => readPort(reading, "ADMIN_TLS");
