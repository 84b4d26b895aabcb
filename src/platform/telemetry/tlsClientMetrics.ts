import type { Registry } from "./series.ts";

/** What is counted of clients that show a certificate, or should. */
export interface TlsClientMetrics {
  /** Binds the recorder of clients that a port refuses for their certificates. @param reasons those that there are; none where none are asked for. */
  readonly tlsClientsRefused: (port: string, reasons: readonly string[]) => (reason: string) => void;
}

export const createTlsClientMetrics = (registry: Registry): TlsClientMetrics => {
  const refused = registry.counter({
    name: "latchkey_tls_clients_refused_total",
    help: "Connections, and on the admin port requests, refused for their client's certificate, by reason.",
    labels: ["port", "reason"],
  });
  return {
    tlsClientsRefused: (port, reasons) => {
      // From 0 on, so that the first one is an increase.
      for (const reason of reasons) refused(port, reason);
      return (reason) => refused(port, reason)();
    },
  };
};
