import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { type Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";

/** Where a node is in its life. Only `serving` is SERVING. */
export type ServingState = "starting" | "serving" | "draining";

export interface HealthService {
  readonly implementation: ServiceImpl<typeof Health>;
  /** Aborted when draining begins: streams that would go on for ever end. */
  readonly draining: AbortSignal;
  /** Tells every watcher. After `draining` nothing follows: watchers hear NOT_SERVING and their streams end. */
  readonly setState: (state: ServingState) => void;
}

/**
 * `grpc.health.v1.Health` (grpc §1): one status for the whole node, under the name `""` and that of each service. An
 * unknown name is NOT_FOUND for Check and SERVICE_UNKNOWN for Watch, whose stream stays open as that protocol wants it.
 */
export const createHealthService = (services: readonly DescService[]): HealthService => {
  const known = new Set(["", ...services.map((service) => service.typeName)]);
  let state: ServingState = "starting";
  let changed = Promise.withResolvers<void>();
  const draining = new AbortController();

  const statusOf = (service: string): Status => {
    if (!known.has(service)) return Status.SERVICE_UNKNOWN;
    return state === "serving" ? Status.SERVING : Status.NOT_SERVING;
  };

  return {
    implementation: {
      check: ({ service }) => {
        const status = statusOf(service);
        if (status === Status.SERVICE_UNKNOWN) throw new ConnectError(`There is no service ${service}.`, Code.NotFound);
        return { status };
      },
      watch: async function* ({ service }, { signal }) {
        const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        let last: Status | undefined;
        while (!signal.aborted) {
          const status = statusOf(service);
          const next = changed.promise;
          if (status !== last) yield { status };
          last = status;
          if (state === "draining") return;
          await Promise.race([next, aborted]);
        }
      },
    },
    draining: draining.signal,
    setState: (next) => {
      if (state === "draining") return;
      state = next;
      if (state === "draining") draining.abort();
      changed.resolve();
      changed = Promise.withResolvers<void>();
    },
  };
};
