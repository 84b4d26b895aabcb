/** Procedures of the management chapter: the versions of the official clients that the tests drive do not have them. */
const names = [
  ...["apis.listApis", "apis.updateApi", "ratelimit.listNamespaces", "ratelimit.listCounters", "ratelimit.deleteNamespace"],
  ...[
    "analytics.getQuota",
    "analytics.getUsage",
    "analytics.tail",
    "audit.getLogs",
    "audit.verifyChain",
    "keys.explain",
    "keys.searchKeys",
    "nodes.listNodes",
    "rootKeys.whoami",
  ],
  ...["migrations.createMigration", "migrations.listMigrations", "migrations.deleteMigration"],
];

export const isNewerThanClients = (procedure: string): boolean => names.includes(procedure);
