import { host, integer, type WithDefault } from "./parsers.ts";

interface ListenVariables {
  readonly host: WithDefault<string>;
  readonly port: WithDefault<number>;
  readonly shutdownDelay: WithDefault<number>;
}

/** Variables that say where the service listens and how it stops, a part of the one table. */
export const listenVariables: ListenVariables = {
  host: {
    name: "HOST",
    byDefault: "127.0.0.1",
    description: "Address that the service listens on; `0.0.0.0` or `::` for all.",
    parse: host,
  },
  port: {
    name: "PORT",
    byDefault: "3000",
    description: "Port of `/v2`, gRPC, gRPC-Web and Connect; `0` picks a free one.",
    parse: integer(0, 65_535),
  },
  shutdownDelay: {
    name: "SHUTDOWN_DELAY",
    byDefault: "0",
    description:
      "Seconds for which a service that is told to stop goes on as before, while `/readyz` answers 503, so that load balancers that ask it send no more calls.",
    parse: integer(0, 300),
  },
};
