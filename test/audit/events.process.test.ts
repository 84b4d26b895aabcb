// @same-on-every-engine
import { afterAll } from "vitest";
import { embeddedAnalytics } from "../support/analytics.ts";
import { eventsRun } from "./eventsRun.ts";

const analytics = embeddedAnalytics();
afterAll(analytics.remove);

// Procedures that need no process are in events.test.ts.
eventsRun((procedure) => procedure.startsWith("analytics."), analytics.env);
