import type { Transport } from "./transport.ts";

const consolePolicy = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'", "connect-src 'self'"],
  ...["object-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join("; ");

/** Of pages without scripts, which only search in themselves. */
export const documentationPolicy: string = [
  ...["default-src 'none'", "style-src 'self'", "img-src 'self'"],
  ...["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
].join("; ");

const always = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
} as const;

/** What every answer below `/ui` and `/docs` has (console §2.6). */
export const securityHeaders = ({ by, isLocalName }: Transport, policy: string = consolePolicy): Readonly<Record<string, string>> => {
  const headers = { "content-security-policy": policy, ...always };
  // A name of the machine itself serves other ports, too, and they need not speak TLS.
  return by === "tls" && !isLocalName ? { ...headers, "strict-transport-security": "max-age=31536000" } : headers;
};
