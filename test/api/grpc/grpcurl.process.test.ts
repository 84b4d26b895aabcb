// @same-on-every-engine
import { execFile, spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { services } from "../../../src/service/services.ts";
import { type Api, startApi } from "../../support/api.ts";
import { engines } from "../../support/stores.ts";

/** The command, where there is one: named by GRPCURL, on the path, or where `go install` puts it. */
const grpcurl = [process.env.GRPCURL ?? "grpcurl", join(homedir(), "go/bin/grpcurl")].find(
  (command) => spawnSync(command, ["-version"]).status === 0,
);

test("grpcurl is there where everything must be tested", () => {
  if (process.env.CI) expect(grpcurl, "install it with `go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4`").toBeDefined();
});

const [engine] = engines;

describe.skipIf(grpcurl === undefined || engine === undefined)("[grpc §1] grpcurl, without any .proto file", () => {
  let api: Api;
  beforeAll(async () => {
    api = await startApi(engine ?? expect.unreachable());
  });
  afterAll(async () => {
    await api.close();
    await engine?.close();
  });

  interface Output {
    readonly code: number;
    readonly stdout: string;
    readonly stderr: string;
  }
  const run = async (options: readonly string[], ...what: readonly string[]): Promise<Output> => {
    const { host } = new URL(api.url);
    try {
      return { code: 0, ...(await promisify(execFile)(grpcurl ?? "", ["-plaintext", ...options, host, ...what])) };
    } catch (error) {
      return error as Output;
    }
  };
  const call = (method: string, body: object, ...options: readonly string[]): Promise<Output> =>
    run(["-H", `authorization: Bearer ${api.rootKey}`, "-d", JSON.stringify(body), ...options], `latchkey.v2.${method}`);

  test("lists every service and its procedures", async () => {
    const { stdout } = await run([], "list");
    const own = services.map(({ typeName }) => typeName);
    const standard = ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"];
    expect(stdout.trim().split("\n").sort()).toEqual([...own, ...standard].sort());
    for (const service of services) {
      const listed = (await run([], "list", service.typeName)).stdout.trim().split("\n");
      expect(listed.sort()).toEqual(service.methods.map(({ name }) => `${service.typeName}.${name}`).sort());
    }
  });

  test("describes procedures, messages and the error detail", async () => {
    expect((await run([], "describe", "latchkey.v2.KeysService.VerifyKey")).stdout).toContain(
      "rpc VerifyKey ( .latchkey.v2.VerifyKeyRequest )",
    );
    expect((await run([], "describe", "latchkey.v2.UpdateKeyRequest")).stdout).toContain("NullableName name = 2");
    expect((await run([], "describe", "latchkey.v2.ErrorDetail")).stdout).toContain("repeated .latchkey.v2.Violation violations = 5");
  });

  test("calls, and shows the request id among the headers", async () => {
    const created = JSON.parse((await call("ApisService/CreateApi", { name: "from grpcurl" })).stdout);
    expect(created).toEqual({ meta: { requestId: expect.stringMatching(/^req_/) }, data: { apiId: expect.stringMatching(/^api_/) } });
    const shown = await call("ApisService/GetApi", { apiId: created.data.apiId }, "-v");
    expect(shown.stdout).toContain('"name": "from grpcurl"');
    expect(shown.stdout).toMatch(/^x-request-id: req_\w+$/m);
    const { stdout } = await call("KeysService/CreateKey", {
      apiId: created.data.apiId,
      credits: { remaining: { value: 5 } },
      meta: { a: [1] },
    });
    const { data } = JSON.parse(stdout);
    expect(JSON.parse((await call("KeysService/VerifyKey", { key: data.key })).stdout).data).toMatchObject({
      valid: true,
      credits: "4",
      meta: { a: [1] },
    });
  });

  test("shows code, message and the decoded ErrorDetail of a failure", async () => {
    const { code, stderr } = await call("ApisService/CreateApi", { name: "ab" });
    expect(code).not.toBe(0);
    expect(stderr).toContain("Code: InvalidArgument");
    expect(stderr).toContain("Message: The request of apis.createApi failed validation: body.name: too short: got 2, want 3.");
    expect(stderr).toContain('"@type": "type.googleapis.com/latchkey.v2.ErrorDetail"');
    expect(stderr).toContain('"location": "body.name"');
    const anonymous = await run(["-d", "{}"], "latchkey.v2.KeysService/VerifyKey");
    expect(anonymous.stderr).toContain("Code: Unauthenticated");
    expect((await run([], "latchkey.v2.KeysService/Nothing")).code).not.toBe(0);
  });

  test("asks for health, as a call and as a stream of its own", async () => {
    for (const service of ["", "latchkey.v2.KeysService"]) {
      const { stdout } = await run(["-d", JSON.stringify({ service })], "grpc.health.v1.Health/Check");
      expect(JSON.parse(stdout)).toEqual({ status: "SERVING" });
    }
    expect((await run(["-d", '{"service":"nothing"}'], "grpc.health.v1.Health/Check")).stderr).toContain("Code: NotFound");
  });
});
