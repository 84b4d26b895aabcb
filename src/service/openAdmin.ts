import { createAdminAccess } from "../operations/admin/adminAccess.ts";
import { type AdminOptions, type AdminServer, createAdminServer } from "../operations/admin/adminServer.ts";
import type { ProfileAnswersOptions } from "../operations/admin/profileAnswers.ts";
import { recordProfile } from "../operations/admin/recordProfile.ts";
import { plainAddress } from "../platform/base/ipAllowlist.ts";
import type { AdminConfig } from "../platform/config/adminVariables.ts";
import { createFairShares } from "../platform/fairness/fairShares.ts";
import { createAcceptor } from "../platform/http/acceptor.ts";
import { networkOf } from "../platform/http/clientAddress.ts";
import { addressAdminConnections, adminConnections } from "../platform/http/limits.ts";
import type { RefusedClient } from "../platform/http/tls/clientRefusal.ts";
import type { Events } from "../platform/telemetry/events.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import { listenOn } from "./listenOn.ts";
import type { WatchedFiles } from "./watchedFiles.ts";

export interface OpenAdminOptions extends Pick<AdminOptions, "isLive" | "isReady"> {
  readonly config: AdminConfig;
  readonly files: WatchedFiles;
  readonly metrics: Pick<Metrics, "contentType" | "render">;
  readonly events: Pick<Events, "profileTaken">;
  /** Of a service with several; left out, this process is recorded. */
  readonly profilesOf?: Pick<ProfileAnswersOptions, "record" | "workers">;
  readonly onClientRefused: (client: RefusedClient) => void;
}

/** The admin port, and where it listens. */
export interface OpenAdmin extends Pick<AdminServer, "stop"> {
  readonly url: string;
}

/** Reads what the admin port needs, and listens. Rejects when the files cannot be used, or the port is taken. */
export const openAdmin = async ({
  config,
  files,
  events,
  onClientRefused,
  profilesOf = { record: recordProfile },
  ...more
}: OpenAdminOptions): Promise<OpenAdmin> => {
  const { host, port, tls } = config;
  let server: AdminServer | undefined;
  const material = tls && (await files.tls("admin", tls, (next) => server?.setTls(next)));
  const connections = createFairShares({ capacity: adminConnections, most: [addressAdminConnections] });
  const token = config.tokenFile === undefined ? () => config.token : await files.token(config.tokenFile);
  server = createAdminServer({
    ...more,
    host,
    port,
    tls: material?.(),
    createAcceptor: (serve) => createAcceptor((remoteIp) => connections.take([networkOf(plainAddress(remoteIp))], 1), serve),
    access: createAdminAccess({ token, clients: tls?.clientCaFile === undefined ? undefined : tls, onClientRefused }),
    profiles: config.profiles ? { ...profilesOf, onTaken: events.profileTaken } : undefined,
  });
  return { url: await listenOn("ADMIN_HOST, ADMIN_PORT", host, port, server.start), stop: server.stop };
};
