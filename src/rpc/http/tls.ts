import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type SecureContextOptions } from "node:tls";

/** Certificate chain and private key, both PEM. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Oldest protocol version that is spoken. */
const minVersion = "TLSv1.2";

/**
 * Reads and checks a certificate and its key. Fails when a file cannot be read, is not PEM, or when the two do not
 * belong together; the message names the files and holds nothing of their content.
 */
export const readCertificate = async (files: { readonly certFile: string; readonly keyFile: string }): Promise<Certificate> => {
  const [cert, key] = await Promise.all([readFile(files.certFile), readFile(files.keyFile)]);
  try {
    createSecureContext(secureContextOptions({ cert, key }));
  } catch (cause) {
    throw new Error(`${files.certFile} and ${files.keyFile} do not hold a certificate and its private key`, { cause });
  }
  return { cert, key };
};

/** When the first certificate of the chain, the server's own, expires, in Unix ms. */
export const expiryOf = ({ cert }: Pick<Certificate, "cert">): number => new X509Certificate(cert).validToDate.getTime();

export const secureContextOptions = ({ cert, key }: Certificate): SecureContextOptions => ({ cert, key, minVersion });
