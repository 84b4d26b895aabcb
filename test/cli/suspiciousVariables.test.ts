// @same-on-every-engine
import { expect, test } from "vitest";
import { suspiciousVariables } from "../../src/platform/config/suspiciousVariables.ts";

const known = ["HOST", "MONGODB_URL", "CACHE_MB"];

test.each([
  ["a letter too many", "MONGODB_URLS", "MONGODB_URLS is no setting: did you mean MONGODB_URL?"],
  ["a letter too few", "MONGODB_UR", "MONGODB_UR is no setting: did you mean MONGODB_URL?"],
  ["another letter", "MONGODB_URI", "MONGODB_URI is no setting: did you mean MONGODB_URL?"],
  ["two letters swapped", "MONGOBD_URL", "MONGOBD_URL is no setting: did you mean MONGODB_URL?"],
  ["the prefix of the product", "LATCHKEY_CACHE_MB", "LATCHKEY_CACHE_MB is no setting: did you mean CACHE_MB?"],
  ["the prefix before something else", "LATCHKEY_SPEED", "LATCHKEY_SPEED is no setting"],
])("a variable with %s is named", (_, name, sentence) => {
  expect(suspiciousVariables({ [name]: "secret" }, known)).toEqual([sentence]);
});

test("variables that Kubernetes sets for a service called latchkey are not suspicious", () => {
  const links = {
    ...{ LATCHKEY_SERVICE_HOST: "10.0.0.1", LATCHKEY_SERVICE_PORT: "3000", LATCHKEY_SERVICE_PORT_GRPC: "3000" },
    ...{ LATCHKEY_PORT: "tcp://10.0.0.1:3000", LATCHKEY_PORT_3000_TCP: "tcp://10.0.0.1:3000", LATCHKEY_PORT_3000_TCP_ADDR: "10.0.0.1" },
  };
  expect(suspiciousVariables(links, [...known, "PORT"])).toEqual([]);
  expect(suspiciousVariables({ LATCHKEY_PORT: "3001" }, [...known, "PORT"])).toEqual(["LATCHKEY_PORT is no setting: did you mean PORT?"]);
});

test("variables of the command line are not suspicious", () => {
  expect(suspiciousVariables({ LATCHKEY_URL: "a", LATCHKEY_ROOT_KEY: "b" }, known)).toEqual([]);
});

test("settings, unset variables and other programs' variables are not", () => {
  expect(suspiciousVariables({ HOST: "a", MONGODB_URLS: undefined, PATH: "b", MONGO: "c", HSTO_: "d", CACHE: "e" }, known)).toEqual([]);
});
