import type { Transport } from "./transport.ts";

const policy = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'", "connect-src 'self'"],
  ...["object-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join("; ");

const always: Readonly<Record<string, string>> = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
};

/** What a request is answered with that could not be read: it may have been one for `/ui`. */
export const unreadRequestHeaders: Readonly<Record<string, string>> = { ...always, "cache-control": "no-store" };

/** What every answer below `/ui` has (console §2.6). */
export const securityHeaders = ({ by, isLocalName }: Transport): Readonly<Record<string, string>> =>
  // A name of the machine itself serves other ports, too, and they need not speak TLS.
  by === "tls" && !isLocalName ? { ...always, "strict-transport-security": "max-age=31536000" } : always;
