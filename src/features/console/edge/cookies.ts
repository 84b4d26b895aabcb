import type { Transport } from "../../../platform/http/transport.ts";
import { type Secret, secret } from "../../../platform/secrets/secret.ts";

/** A cookie of the console, as one kind of connection has it. */
export interface ConsoleCookie {
  readonly name: string;
  readonly attributes: string;
}

const cookieOf = ({ by, port }: Transport, name: string, sameSite: "Strict" | "Lax"): ConsoleCookie | undefined => {
  const attributes = `HttpOnly; SameSite=${sameSite}; Path=/`;
  if (by === "tls") return { name: `__Host-${name}`, attributes: `Secure; ${attributes}` };
  // Cookies ignore ports: two services of one machine would take each other's.
  return by === "loopback" ? { name: `${name}-${port}`, attributes } : undefined;
};

/** That of a session (console §2.2); none over plain HTTP from elsewhere. */
export const sessionCookieOf = (transport: Transport): ConsoleCookie | undefined => cookieOf(transport, "latchkey", "Strict");
/** That of who is on the way to the identity provider and back (console §2.5): the provider sends the browser, so it is not strict. */
export const roundCookieOf = (transport: Transport): ConsoleCookie | undefined => cookieOf(transport, "latchkey-oidc", "Lax");

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
export const giveCookie = ({ name, attributes }: ConsoleCookie, token: Secret): string => `${name}=${token.reveal()}; ${attributes}`;
export const takeCookie = ({ name, attributes }: ConsoleCookie): string => `${name}=; Max-Age=0; ${attributes}`;
