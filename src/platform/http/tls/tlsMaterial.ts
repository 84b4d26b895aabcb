import { constants, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { Server as NetServer } from "node:net";
import { createSecureContext, type SecureContextOptions, Server } from "node:tls";
import { readSettingFiles, type SettingFile, UnusableFile } from "../../util/settingFiles.ts";

/** What a port speaks TLS with, all PEM. */
export interface TlsMaterial {
  /** The certificate chain. */
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Whose client certificates are accepted; undefined = clients are asked for none. */
  readonly clientCa?: Buffer | undefined;
}

/** Where the material of a port is, and how its settings begin. */
export interface TlsMaterialFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile?: string | undefined;
  /** What stands before `_CERT`, `_KEY` and `_CLIENT_CA`: `TLS` unless given. */
  readonly settings?: "TLS" | "ADMIN_TLS";
}

/** Why files are no material for TLS, beside `unreadable`. */
export const tlsFaults = ["unreadable", "malformed", "key_mismatch"] as const;

/** Oldest protocol version that is spoken. */
const minVersion = "TLSv1.2";

/** The files of a port, in the order in which `parseTlsMaterial` takes what they hold. */
export const tlsFilesOf = ({ certFile, keyFile, clientCaFile, settings = "TLS" }: TlsMaterialFiles): readonly SettingFile[] => [
  { setting: `${settings}_CERT`, path: certFile },
  { setting: `${settings}_KEY`, path: keyFile },
  ...(clientCaFile === undefined ? [] : [{ setting: `${settings}_CLIENT_CA`, path: clientCaFile }]),
];

const named = ({ setting, path }: SettingFile): string => `${setting}: ${JSON.stringify(path)}`;

/** All certificates of a file. One that breaks off makes the whole file malformed: it may be half written. */
const certificatesIn = (file: SettingFile, content: Buffer): readonly X509Certificate[] => {
  const text = content.toString("latin1");
  const blocks = text.match(/-----BEGIN ([A-Z0-9 ]*CERTIFICATE)-----[^-]+-----END \1-----/g) ?? [];
  try {
    if (blocks.length === 0 || blocks.length !== text.match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/g)?.length) throw new Error("not PEM");
    return blocks.map((block) => new X509Certificate(block));
  } catch (cause) {
    throw new UnusableFile("malformed", `${named(file)} is not a PEM file of whole certificates`, { cause });
  }
};

const privateKeyIn = (file: SettingFile, content: Buffer): KeyObject => {
  try {
    return createPrivateKey(content);
  } catch (cause) {
    throw new UnusableFile("malformed", `${named(file)} is not a PEM file of a private key without a passphrase`, { cause });
  }
};

/** OpenSSL trusts only what leads to a certificate that is signed by itself: without that every client would be refused. */
const checkAuthorities = (file: SettingFile, certificates: readonly X509Certificate[]): void => {
  const isIssued = (certificate: X509Certificate): boolean => certificates.some((issuer) => certificate.checkIssued(issuer));
  const orphan = certificates.find((certificate) => !isIssued(certificate));
  if (orphan === undefined) return;
  const subject = JSON.stringify(orphan.subject.replaceAll("\n", ", ").slice(0, 200));
  throw new UnusableFile("malformed", `${named(file)} lacks the certificate that issued ${subject}: add all up to the root`);
};

/**
 * Checks what the files of `tlsFilesOf` hold. Throws `UnusableFile`, whose message names setting and file and holds nothing of
 * their content: `malformed`, or `key_mismatch` where the private key is another one than the certificate's.
 */
export const parseTlsMaterial = (files: readonly SettingFile[], contents: readonly Buffer[]): TlsMaterial => {
  const [certFile, keyFile, clientCaFile] = files;
  const [cert, key, clientCa] = contents;
  if (certFile === undefined || keyFile === undefined || cert === undefined || key === undefined) throw new Error("two files are needed");
  const [own] = certificatesIn(certFile, cert);
  if (!own?.checkPrivateKey(privateKeyIn(keyFile, key))) {
    const message = `${named(keyFile)} is not the private key of the first certificate in ${named(certFile)}`;
    throw new UnusableFile("key_mismatch", `${message}: name the two files of one certificate, its own before those of its issuers`);
  }
  if (clientCaFile && clientCa) checkAuthorities(clientCaFile, certificatesIn(clientCaFile, clientCa));
  const material = { cert, key, clientCa };
  try {
    createSecureContext(secureContextOptions(material));
  } catch (cause) {
    const problem = `${named(certFile)} and ${named(keyFile)} cannot be used for TLS`;
    throw new UnusableFile("malformed", `${problem}: ${cause instanceof Error ? cause.message : "no reason was given"}`, { cause });
  }
  return material;
};

/** Reads and checks the files; rejects as `parseTlsMaterial` throws, and with `unreadable`. */
export const readTlsMaterial = async (where: TlsMaterialFiles): Promise<TlsMaterial> => {
  const files = tlsFilesOf(where);
  return parseTlsMaterial(files, await readSettingFiles(files));
};

/** When the first certificate of the chain, the server's own, expires, in Unix ms. */
export const expiryOf = ({ cert }: Pick<TlsMaterial, "cert">): number => new X509Certificate(cert).validToDate.getTime();

/**
 * Where clients show certificates, no session is resumed (OpenSSL turns tickets off by keeping them in a cache, which there is
 * none of): the certificate, its validity and its name are judged anew on every connection.
 */
export const secureContextOptions = ({ cert, key, clientCa }: TlsMaterial): SecureContextOptions => ({
  cert,
  key,
  minVersion,
  ...(clientCa && { ca: clientCa, secureOptions: constants.SSL_OP_NO_TICKET }),
});

/**
 * Has a server use other material for the connections that begin from now on. Throws, and changes nothing, where it does not
 * speak TLS, or where it would trust others than the authorities of a file: whether clients are asked for certificates is
 * settled when it is made.
 */
export const replaceMaterial = (server: NetServer | undefined, first: TlsMaterial | undefined, next: TlsMaterial): void => {
  if (!(server instanceof Server) || first === undefined) throw new Error("This port does not speak TLS.");
  if ((first.clientCa === undefined) !== (next.clientCa === undefined))
    throw new Error("This port cannot change whether clients show certificates.");
  server.setSecureContext(secureContextOptions(next));
};
