import type { DescService } from "@bufbuild/protobuf";
import { AnalyticsService } from "../../gen/latchkey/v2/analytics_pb.ts";
import { ApisService } from "../../gen/latchkey/v2/apis_pb.ts";
import { AuditService } from "../../gen/latchkey/v2/audit_pb.ts";
import { IdentitiesService } from "../../gen/latchkey/v2/identities_pb.ts";
import { KeysService } from "../../gen/latchkey/v2/keys_pb.ts";
import { MigrationsService } from "../../gen/latchkey/v2/migrations_pb.ts";
import { NodesService } from "../../gen/latchkey/v2/nodes_pb.ts";
import { PermissionsService } from "../../gen/latchkey/v2/permissions_pb.ts";
import { RatelimitService } from "../../gen/latchkey/v2/ratelimit_pb.ts";
import { RootKeysService } from "../../gen/latchkey/v2/root_keys_pb.ts";
import { TestingService } from "../../gen/latchkey/v2/testing_pb.ts";

/** Everything that exists, on every edge (DESIGN §1). */
export const services: readonly DescService[] = [
  AnalyticsService,
  ApisService,
  AuditService,
  IdentitiesService,
  KeysService,
  MigrationsService,
  NodesService,
  PermissionsService,
  RatelimitService,
  RootKeysService,
];

/** With what a service has besides when it was started with a test clock. */
export const testableServices: readonly DescService[] = [...services, TestingService];
