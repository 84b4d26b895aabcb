// @same-on-every-engine
import { afterAll } from "vitest";
import { embeddedAnalytics } from "../../support/analytics.ts";
import { procedureNames } from "../../support/edges.ts";
import { walk } from "./walkRun.ts";

const analytics = embeddedAnalytics();
afterAll(analytics.remove);

// Procedures that need no process are in walk.test.ts.
walk(
  procedureNames.filter((name) => name.startsWith("analytics.")),
  analytics.env,
);
