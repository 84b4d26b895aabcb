import type { DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import { AnalyticsService } from "../../../gen/latchkey/v2/analytics_pb.ts";
import { ApisService } from "../../../gen/latchkey/v2/apis_pb.ts";
import { AuditService } from "../../../gen/latchkey/v2/audit_pb.ts";
import { IdentitiesService } from "../../../gen/latchkey/v2/identities_pb.ts";
import { KeysService } from "../../../gen/latchkey/v2/keys_pb.ts";
import { MigrationsService } from "../../../gen/latchkey/v2/migrations_pb.ts";
import { NodesService } from "../../../gen/latchkey/v2/nodes_pb.ts";
import { PermissionsService } from "../../../gen/latchkey/v2/permissions_pb.ts";
import { RatelimitService } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import { RootKeysService } from "../../../gen/latchkey/v2/root_keys_pb.ts";

export const services: readonly DescService[] = [
  AnalyticsService,
  ApisService,
  AuditService,
  IdentitiesService,
  KeysService,
  MigrationsService,
  PermissionsService,
  NodesService,
  RatelimitService,
  RootKeysService,
];

export const methods: readonly DescMethod[] = services.flatMap((service) => service.methods);
export const requests: readonly DescMessage[] = methods.map(({ input }) => input);
export const responses: readonly DescMessage[] = methods.map(({ output }) => output);
