import { adminToken } from "../platform/config/adminVariables.ts";
import { withoutLineEnd } from "../platform/config/secretFiles.ts";
import type { TlsFiles } from "../platform/config/tlsVariables.ts";
import { expiryOf, parseTlsMaterial, type TlsMaterial, tlsFaults, tlsFilesOf } from "../platform/http/tls/tlsMaterial.ts";
import type { Secret } from "../platform/secrets/secret.ts";
import type { Events, WatchedFiles as Name } from "../platform/telemetry/events.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { Sample } from "../platform/telemetry/series.ts";
import { type FollowedFiles, type FollowOptions, followFiles } from "../platform/util/followFiles.ts";
import { UnusableFile } from "../platform/util/settingFiles.ts";

/** How often files are looked at, in milliseconds: new content counts at the second look. */
const LOOK_EVERY = 2_000;

/** A port that speaks TLS, as metrics and the log have it. */
export type TlsPort = "service" | "admin";

export interface WatchedFilesOptions {
  readonly metrics: Pick<Metrics, "observe">;
  readonly events: Pick<Events, "filesReloaded" | "filesReloadFailed">;
  /** Milliseconds; 2 s unless told. */
  readonly lookEvery?: number | undefined;
}

/** The files that a node reads again when they change. All functions that give the newest value go on to do so. */
export interface WatchedFiles {
  /** Rejects when the files cannot be used now. @param onChange told of what is to be used from now on. */
  readonly tls: (port: TlsPort, files: TlsFiles, onChange: (material: TlsMaterial) => void) => Promise<() => TlsMaterial>;
  readonly token: (file: string) => Promise<() => Secret>;
  /** Reads all of them at once; what is wrong is logged. */
  readonly reload: () => Promise<void>;
  readonly stop: () => void;
}

const tokenIn =
  (file: string) =>
  ([content]: readonly Buffer[]): Secret => {
    const parsed = adminToken(withoutLineEnd(String(content)));
    if ("value" in parsed) return parsed.value;
    throw new UnusableFile("malformed", `ADMIN_TOKEN_FILE: what ${JSON.stringify(file)} holds is not ${parsed.expected}`);
  };

/** Watches nothing before it is asked to. Publishes when certificates expire and what could not be read again. */
export const createWatchedFiles = ({ metrics, events, lookEvery: every = LOOK_EVERY }: WatchedFilesOptions): WatchedFiles => {
  const all = new Map<Name, FollowedFiles<unknown>>();
  const certificates = new Map<TlsPort, () => TlsMaterial>();
  metrics.observe("certificateExpiry", () => [...certificates].map(([port, material]) => [[port], expiryOf(material()) / 1_000]));
  metrics.observe("reloadFailed", () =>
    [...all].flatMap(([name, { fault }]) => tlsFaults.map((reason): Sample => [[name, reason], fault()?.reason === reason ? 1 : 0])),
  );

  const follow = async <T>(name: Name, options: Pick<FollowOptions<T>, "files" | "parse" | "onChange">): Promise<() => T> => {
    const followed = await followFiles({
      ...options,
      every,
      onChange: (value: T) => {
        options.onChange(value);
        events.filesReloaded(name);
      },
      onFault: (fault) => events.filesReloadFailed(name, fault),
    });
    all.set(name, followed);
    return followed.value;
  };

  return {
    tls: async (port, where, onChange) => {
      const files = tlsFilesOf(where);
      const material = await follow(`${port}_tls`, { files, parse: (contents) => parseTlsMaterial(files, contents), onChange });
      certificates.set(port, material);
      return material;
    },
    token: (path) =>
      follow("admin_token", { files: [{ setting: "ADMIN_TOKEN_FILE", path }], parse: tokenIn(path), onChange: () => undefined }),
    reload: async () => void (await Promise.all([...all.values()].map(({ reload }) => reload()))),
    stop: () => {
      for (const { stop } of all.values()) stop();
    },
  };
};
