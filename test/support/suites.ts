export const everyFile = "test/**/*.test.ts";

/**
 * Files that start processes which run beside the test (the service, workers, the engine of analytics, shells, clients in other languages):
 * `npm run test:processes`. All others are `npm test`.
 */
export const processFiles = "test/**/*.process.test.ts";

/** What touches no store, or the embedded one alone, or looks alike on all: a run on a MongoDB server alone leaves it to the other one. */
export const sameOnEveryEngine: readonly string[] = [
  "test/{deploy,docs,documentation,domain,idempotency,openapi,procedures,proto,rpc,sdk,service,telemetry,ui,util,storage/embedded}/**",
  "test/{architecture,config,suites,storage/announced,storage/changeText,storage/embedded,storage/guarded}.test.ts",
  "test/ratelimit/{compactCounters,decideFromMemory,limiterAccuracy,limiterEdges,limiterModel,matrix,ownLimits,planCharge}.test.ts",
  "test/api/console/{console.process,elevation,failedSignIns,oidc,oidcReturns,oidcSessions,page,sessionEnds,transport}.test.ts",
  "test/api/keys/{audit,bounds,explain,explain.limits,permissions.bounds,recoverable.settings,refused}.test.ts",
  "test/api/ratelimit/{listCounters.process,matching}.test.ts",
  "test/api/rootKeys/{containment,expiry,manage.process,whoami}.test.ts",
  "test/api/verify/{flood,ipAllowlist,limits,outcomes,time}.test.ts",
  "test/api/**/{request,requests,*.requests}.test.ts",
  "test/api/audit/changes.test.ts",
  "test/api/migrations/migrateKeys.bounds.test.ts",
  "test/api/analytics/{getQuota,tail}.process.test.ts",
  "test/api/grpc/**",
  "test/api/protocol/{address,adminPort,authorization,body,callSignal,errors,etag,fuzz,ifMatch,managementLimit,metricsPage,order,overload,secrets,testClock,testClock.process,types,walk,walk.process}.test.ts",
  "test/analytics/{attack,engine,isolation,isolationProof,limits,schema,tableReferences,tail,tracing,transfer,usage,usageBounds,usageOld}.process.test.ts",
  "test/analytics/{recorder,resultRows,rows,tailCalls,tailHeads,tailPoller,usageShared}.test.ts",
  "test/attacks/{adminPort,bodies,bodiesInFlight,brokenConnections,connections,logs,pipelining,publicStreams,resets,rootKeyReads,slots,slowBodies}.test.ts",
  "test/audit/events{,.process}.test.ts",
  "test/cache/{batchLoader,cache,memorySize,silence}.test.ts",
  "test/cli/{analytics,api,audit,confirm,fileModes,migration,namespace,serve,tls}.process.test.ts",
  "test/cli/{commandLine,expiry,progressBar,suspiciousVariables}.test.ts",
  "test/api/identities/eraseFiles.process.test.ts",
  "test/backup/{embeddedBackup,embeddedBackup.process,importAnew}.test.ts",
  "test/cli/remote/**",
  "test/failure/{crash,fullLoad}.process.test.ts",
  "test/properties/explain.test.ts",
  "test/verification/{creditSpenderModel,lastUsed,sharedGrants}.test.ts",
];

/** What none of these runs takes. Tests in a browser are a run of their own: vitest.browser.config.ts. */
export const excluded: readonly string[] = [
  ...["**/node_modules/**", "test/browser/**"],
  ...(process.env.LATCHKEY_TEST_ENGINE === "mongo" ? sameOnEveryEngine : []),
];
