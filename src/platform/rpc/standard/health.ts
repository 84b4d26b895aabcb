import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { type Health, HealthCheckResponse_ServingStatus as Status } from "../../../../gen/grpc/health/v1/health_pb.ts";

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
  const waiting = new Set<() => void>();
  const draining = new AbortController();

  const statusOf = (service: string): Status => {
    if (!known.has(service)) return Status.SERVICE_UNKNOWN;
    return state === "serving" ? Status.SERVING : Status.NOT_SERVING;
  };

  /** Resolves at the next change, or when nobody listens any more. */
  const nextChange = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = () => {
        waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      waiting.add(wake);
      signal.addEventListener("abort", wake);
    });

  return {
    implementation: {
      check: ({ service }) => {
        const status = statusOf(service);
        if (status === Status.SERVICE_UNKNOWN) throw new ConnectError(`There is no service ${service}.`, Code.NotFound);
        return { status };
      },
      watch: async function* ({ service }, { signal }) {
        let last: Status | undefined;
        while (!signal.aborted) {
          const status = statusOf(service);
          if (status !== last) {
            last = status;
            yield { status };
          } else if (state === "draining") return;
          else await nextChange(signal);
        }
      },
    },
    draining: draining.signal,
    setState: (next) => {
      if (state === "draining") return;
      state = next;
      if (state === "draining") draining.abort();
      for (const wake of [...waiting]) wake();
    },
  };
};
