import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { describeCounterServer, parseCounterServerUrl } from "../../src/platform/secrets/counterServerAddress.ts";

const NOBODY = { user: undefined, password: undefined };
const plain = { kind: "single", credentials: NOBODY, isTls: false, database: 0, master: "", sentinelCredentials: NOBODY };
const revealed = (url: string) => {
  const { credentials, sentinelCredentials, ...address } = parseCounterServerUrl(url) ?? expect.unreachable(url);
  const reveal = ({ user, password }: typeof credentials) => ({ user, password: password?.reveal() });
  return { ...address, credentials: reveal(credentials), sentinelCredentials: reveal(sentinelCredentials) };
};

describe("the URL of a counter server", () => {
  test.each([
    ["redis://valkey", { ...plain, hosts: [{ host: "valkey", port: 6379 }] }],
    ["redis://10.0.0.1:7000/3", { ...plain, hosts: [{ host: "10.0.0.1", port: 7000 }], database: 3 }],
    ["rediss://[::1]:6380/", { ...plain, hosts: [{ host: "::1", port: 6380 }], isTls: true }],
    [
      "redis://limits:p%40ss%3A@valkey",
      { ...plain, hosts: [{ host: "valkey", port: 6379 }], credentials: { user: "limits", password: "p@ss:" } },
    ],
    ["redis://:secret@valkey", { ...plain, hosts: [{ host: "valkey", port: 6379 }], credentials: { user: undefined, password: "secret" } }],
    [
      "rediss+sentinel://:a@s1,s2:7000/main/2?sentinelAuth=w:b",
      {
        ...{ ...plain, kind: "sentinel", isTls: true, master: "main", database: 2 },
        hosts: [
          { host: "s1", port: 26_379 },
          { host: "s2", port: 7000 },
        ],
        credentials: { user: undefined, password: "a" },
        sentinelCredentials: { user: "w", password: "b" },
      },
    ],
    [
      "redis+cluster://n1:7000,n2",
      {
        ...{ ...plain, kind: "cluster" },
        hosts: [
          { host: "n1", port: 7000 },
          { host: "n2", port: 6379 },
        ],
      },
    ],
  ])("%s is understood", (url, address) => {
    expect(revealed(url)).toEqual(address);
  });

  test.each([
    "valkey:6379",
    "http://valkey",
    "redis://",
    "redis://valkey:0",
    "redis://valkey:70000",
    "redis://valkey/name",
    "redis://a,b",
    "redis://user@valkey",
    "redis://valkey?tls=true",
    "redis://us%er:x@valkey",
    "redis+sentinel://s1",
    "redis+sentinel://s1/main?other=1",
    "redis+cluster://n1/1",
    "redis+pool://n1",
    "redis://val key",
  ])("%s is refused", (url) => {
    expect(parseCounterServerUrl(url)).toBeUndefined();
  });

  test("shows no password, however it is printed", () => {
    const address = parseCounterServerUrl("redis+sentinel://:hunter2@s1,[::1]:7000/main?sentinelAuth=:hunter2") ?? expect.unreachable();
    for (const text of [inspect(address, { depth: 9 }), JSON.stringify(address), describeCounterServer(address)])
      expect(text).not.toContain("hunter2");
    expect(describeCounterServer(address)).toBe("main of the Sentinels at s1:26379, [::1]:7000");
  });
});
