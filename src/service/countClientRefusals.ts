import type { TlsFiles } from "../platform/config/tlsVariables.ts";
import { clientRefusals, type RefusedClient } from "../platform/http/tls/clientRefusal.ts";
import type { Events } from "../platform/telemetry/events.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { TlsPort } from "./watchedFiles.ts";

/** What is told of each client that a port refuses for its certificate. A port that asks for none has no series. */
export const countClientRefusals = (
  port: TlsPort,
  tls: TlsFiles | undefined,
  metrics: Pick<Metrics, "tlsClientsRefused">,
  events: Pick<Events, "tlsClientRefused">,
): ((client: RefusedClient) => void) => {
  const count = metrics.tlsClientsRefused(port, tls?.clientCaFile === undefined ? [] : clientRefusals);
  return (client) => {
    count(client.reason);
    events.tlsClientRefused({ port, ...client });
  };
};
