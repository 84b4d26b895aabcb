import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readConfig } from "../../src/cli/readConfig.ts";

const directory = mkdtempSync(join(tmpdir(), "latchkey-secrets-"));
afterAll(() => rmSync(directory, { recursive: true }));

const file = (name: string, content: string): string => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};

test("a secret is read out of the file that its variable names, without the line end", () => {
  const config = readConfig({
    MONGODB_URL_FILE: file("mongodb", "mongodb://user:secret@db/latchkey\n"),
    CLICKHOUSE_URL_FILE: file("clickhouse", "http://user:secret@clickhouse:8123\r\n"),
    ENCRYPTION_KEYS_FILE: file("keys", `k1:${Buffer.alloc(32).toString("base64")}`),
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
    OTEL_EXPORTER_OTLP_HEADERS_FILE: file("headers", "authorization=Basic%20secret\n"),
  });
  expect(config.mongodbUrl).toBe("mongodb://user:secret@db/latchkey");
  expect(config.analytics?.clickhouseUrl).toBe("http://user:secret@clickhouse:8123");
  expect(config.encryptionKeys?.map(({ id }) => id)).toEqual(["k1"]);
  expect(config.tracing?.headers.authorization?.reveal()).toBe("Basic secret");
});

test("problems with files are reported together with all others, and never with the contents", () => {
  const env = {
    PORT: "abc",
    MONGODB_URL: "mongodb://db",
    MONGODB_URL_FILE: file("both", "mongodb://other"),
    CLICKHOUSE_URL_FILE: join(directory, "missing"),
    ENCRYPTION_KEYS_FILE: file("wrong", "not-a-key-but-secret"),
  };
  let message = "";
  try {
    readConfig(env);
  } catch (error) {
    ({ message } = error as Error);
  }
  expect(message).toContain("MONGODB_URL and MONGODB_URL_FILE: set one of them");
  expect(message).toContain(`CLICKHOUSE_URL_FILE: "${join(directory, "missing")}" cannot be read (ENOENT)`);
  expect(message).toMatch(/ENCRYPTION_KEYS: its value is not /);
  expect(message).toMatch(/PORT: "abc" is not /);
  expect(message).not.toContain("not-a-key");
  expect(() => readConfig({ MONGODB_URL_FILE: file("empty", "\n") })).toThrow(/MONGODB_URL_FILE: ".*empty" is empty/);
  expect(() => readConfig({ MONGODB_URL_FILE: "" })).toThrow(/MONGODB_URL_FILE: "" is not a value, or not set at all/);
});
