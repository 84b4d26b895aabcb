import { type Secret, secret } from "../../../domain/secrets/secret.ts";
import type { Transport } from "./transport.ts";

/** The session cookie of one kind of connection (console §2.2); none over plain HTTP from elsewhere. */
export interface SessionCookie {
  readonly name: string;
  readonly attributes: string;
}

const attributes = "HttpOnly; SameSite=Strict; Path=/";

export const sessionCookieOf = ({ by, port }: Transport): SessionCookie | undefined => {
  if (by === "tls") return { name: "__Host-latchkey", attributes: `Secure; ${attributes}` };
  // Cookies ignore ports: two services of one machine would take each other's.
  return by === "loopback" ? { name: `latchkey-${port}`, attributes } : undefined;
};

/**
 * The value that a header `Cookie` has under a name. Undefined also where there are several: whoever may set cookies for a
 * neighbouring path or domain must not choose the session.
 */
export const readCookie = (header: string | undefined, name: string): Secret | undefined => {
  const values = (header ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at > 0 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
  const [value] = values;
  return values.length === 1 && value !== undefined && value !== "" ? secret(value) : undefined;
};

/** For the header `Set-Cookie`. */
export const giveCookie = ({ name, attributes }: SessionCookie, token: Secret): string => `${name}=${token.reveal()}; ${attributes}`;
export const takeCookie = ({ name, attributes }: SessionCookie): string => `${name}=; Max-Age=0; ${attributes}`;
