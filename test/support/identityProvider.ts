/// <reference path="./oidc-provider.d.ts" />
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

/** The claims of the provider about a person, in addition to the subject. */
export type Claims = Readonly<Record<string, unknown>>;

/** A real OpenID Connect provider on this machine that logs everyone in at once. */
export interface TestProvider extends AsyncDisposable {
  readonly issuer: string;
  /** Claims by subject. */
  readonly accounts: Map<string, Claims>;
  /** Subject of the next login. */
  account: string;
  /** When they did, Unix seconds; undefined: now. */
  loginAt: number | undefined;
  /** Undefined: it works. Else what it answers to everything. */
  trouble: number | undefined;
  /** The requests it received, as `GET /auth`. */
  readonly requests: string[];
  /** Allows services of these origins to use it. Call it before a person signs in. */
  readonly serve: (...origins: readonly string[]) => void;
  /** Settings of a service that uses it. */
  readonly env: Readonly<Record<string, string>>;
}

export const clientSecret = "the-secret-of-the-client";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** @param permissions of `OIDC_PERMISSIONS`, by group. */
export const startProvider = async (permissions: object, configuration: object = {}): Promise<TestProvider> => {
  let handle: RequestListener = (_req, res) => res.writeHead(404).end();
  const server = createServer((req, res) => {
    provider.requests.push(`${req.method} ${req.url?.split("?")[0]}`);
    if (provider.trouble !== undefined) res.writeHead(provider.trouble).end();
    else handle(req, res);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clientOf = (id: string, origins: readonly string[]) => ({
    client_id: id,
    client_secret: clientSecret,
    redirect_uris: origins.map((origin) => `${origin}/ui/oidc/callback`),
  });
  const provider: TestProvider = {
    issuer,
    accounts: new Map(),
    account: "",
    loginAt: undefined,
    trouble: undefined,
    requests: [],
    serve: (...origins) => {
      const oidc = new Provider(issuer, {
        clients: [clientOf("latchkey", origins), clientOf("another", origins)],
        claims: { openid: ["sub"], profile: ["name"], groups: ["groups"], email: ["email", "email_verified"] },
        scopes: ["openid", "profile", "groups", "email"],
        cookies: { keys: ["k"] },
        jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", kid: "k1" }] },
        features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: false } },
        ttl: { Interaction: 60, Grant: 600, Session: 600, AccessToken: 60, IdToken: 60, AuthorizationCode: 60 },
        pkce: { required: () => true },
        interactions: { url: () => "/interaction" },
        findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ ...provider.accounts.get(id), sub: id }) }),
        // Consent is given without asking.
        // biome-ignore lint/suspicious/noExplicitAny: the package comes without types
        loadExistingGrant: async ({ oidc: { provider: own, client, session } }: any) => {
          const grant = new own.Grant({ clientId: client.clientId, accountId: session.accountId });
          grant.addOIDCScope("openid profile groups email");
          await grant.save();
          return grant;
        },
        ...configuration,
      });
      const asked = oidc.callback();
      handle = (req, res) => {
        if (!req.url?.startsWith("/interaction")) return asked(req, res);
        const { account: accountId, loginAt } = provider;
        const result =
          accountId === ""
            ? { error: "access_denied", error_description: "nobody is there" }
            : { login: { accountId, ...(loginAt === undefined ? {} : { ts: loginAt }) } };
        oidc.interactionFinished(req, res, result).catch(() => res.destroy());
      };
    },
    env: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: "latchkey",
      OIDC_CLIENT_SECRET: clientSecret,
      OIDC_PERMISSIONS: JSON.stringify({ claim: "groups", scopes: ["profile", "groups"], permissions }),
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return provider;
};
