import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { services } from "../../src/service/services.ts";
import { exchange } from "./support/rawConnection.ts";
import { startEdges } from "./support/startEdges.ts";

const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
};

describe.each(Object.entries(transports))("[grpc §1] health over %s", (_name, transport) => {
  test("the node and every service have one status, without credentials", async () => {
    await using edges = await startEdges();
    const client = createClient(Health, transport(edges.url));
    for (const service of ["", ...services.map(({ typeName }) => typeName)]) {
      expect([service, (await client.check({ service })).status]).toEqual([service, Status.SERVING]);
    }
    await expect(client.check({ service: "latchkey.v2.Nothing" })).rejects.toMatchObject({ code: Code.NotFound });
  });

  test("watchers get every change, and their streams end with NOT_SERVING when draining begins", async () => {
    await using edges = await startEdges();
    const client = createClient(Health, transport(edges.url));
    const seen: Status[] = [];
    for await (const { status } of client.watch({ service: "" })) {
      seen.push(status);
      if (seen.length === 1) edges.health.setState("starting");
      if (seen.length === 2) edges.health.setState("serving");
      if (seen.length === 3) edges.health.setState("draining");
    }
    expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING, Status.SERVING, Status.NOT_SERVING]);
    expect((await client.check({})).status).toBe(Status.NOT_SERVING);
    edges.health.setState("serving");
    expect((await client.check({})).status).toBe(Status.NOT_SERVING);
  });

  test("an unknown service is watched as SERVICE_UNKNOWN, until the client leaves", async () => {
    await using edges = await startEdges();
    const controller = new AbortController();
    const watched = createClient(Health, transport(edges.url)).watch({ service: "nothing" }, { signal: controller.signal });
    const seen: Status[] = [];
    const consume = async () => {
      for await (const { status } of watched) {
        seen.push(status);
        controller.abort();
      }
    };
    await expect(consume()).rejects.toMatchObject({ code: Code.Canceled });
    expect(seen).toEqual([Status.SERVICE_UNKNOWN]);
  });
});

test("[grpc §1] open watches and reflection streams do not hold up a stop", async () => {
  await using edges = await startEdges();
  const transport = createGrpcTransport({ baseUrl: edges.url });
  const watch = createClient(Health, transport).watch({})[Symbol.asyncIterator]();
  await watch.next();
  const questions = Promise.withResolvers<void>();
  const stream = createClient(ServerReflection, transport)
    .serverReflectionInfo(
      (async function* () {
        yield { messageRequest: { case: "listServices" as const, value: "" } };
        await questions.promise;
      })(),
    )
    [Symbol.asyncIterator]();
  await stream.next();
  edges.health.setState("draining");
  expect((await watch.next()).value?.status).toBe(Status.NOT_SERVING);
  expect((await watch.next()).done).toBe(true);
  expect((await stream.next()).done).toBe(true);
  questions.resolve();
  await edges.listener.stop();
});

describe.each([
  ["v1", ServerReflection],
  ["v1alpha", ServerReflectionAlpha],
] as const)("[grpc §1] reflection %s", (_version, service) => {
  type Question = { case: string; value: unknown };
  /** Asks all questions on one stream. */
  const ask = async (baseUrl: string, ...questions: Question[]) => {
    const client = createClient(service as typeof ServerReflection, createGrpcTransport({ baseUrl }));
    async function* requests() {
      for (const messageRequest of questions)
        yield { host: "h", messageRequest: messageRequest as { case: "listServices"; value: string } };
    }
    const answers = [];
    for await (const answer of client.serverReflectionInfo(requests())) answers.push(answer);
    return answers.map(({ messageResponse }) => messageResponse);
  };

  test("lists every service, without credentials", async () => {
    await using edges = await startEdges();
    const [answer] = await ask(edges.url, { case: "listServices", value: "" });
    const names = answer?.case === "listServicesResponse" ? answer.value.service.map(({ name }) => name) : [];
    expect(names).toEqual(expect.arrayContaining([...services.map(({ typeName }) => typeName), "grpc.health.v1.Health"]));
  });

  test("hands out files with all that they import, enough to build every type of every procedure and the error detail", async () => {
    await using edges = await startEdges();
    const symbols = [...services.map(({ typeName }) => typeName), "latchkey.v2.KeysService.CreateKey", "latchkey.v2.ErrorDetail"];
    const answers = await ask(edges.url, ...symbols.map((value) => ({ case: "fileContainingSymbol", value })));
    const files = new Map<string, FileDescriptorProto>();
    for (const answer of answers) {
      if (answer.case !== "fileDescriptorResponse") throw new Error(`got ${answer.case}`);
      for (const bytes of answer.value.fileDescriptorProto) {
        const file = fromBinary(FileDescriptorProtoSchema, bytes);
        files.set(file.name, file);
      }
    }
    // A file registry wants imports before the files that import them.
    const ordered = new Set<FileDescriptorProto>();
    const add = (file: FileDescriptorProto | undefined) => {
      if (!file || ordered.has(file)) return;
      for (const name of file.dependency) add(files.get(name));
      ordered.add(file);
    };
    for (const file of files.values()) add(file);
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...ordered] }));
    for (const { typeName, methods } of services) expect(registry.getService(typeName)?.methods).toHaveLength(methods.length);
    expect(registry.getMessage("latchkey.v2.ErrorDetail")).toBeDefined();
  });

  test("answers by file name and by extension, and says what there is not", async () => {
    await using edges = await startEdges();
    const methodOptions = "google.protobuf.MethodOptions";
    const answers = await ask(
      edges.url,
      { case: "fileByFilename", value: "latchkey/v2/keys.proto" },
      { case: "fileContainingExtension", value: { containingType: methodOptions, extensionNumber: 50001 } },
      { case: "allExtensionNumbersOfType", value: methodOptions },
      { case: "fileByFilename", value: "nothing.proto" },
      { case: "fileContainingSymbol", value: "__proto__" },
      { case: "fileContainingExtension", value: { containingType: methodOptions, extensionNumber: 1 } },
      { case: "allExtensionNumbersOfType", value: "latchkey.v2.Nothing" },
    );
    expect(answers.map((answer) => answer.case)).toEqual([
      "fileDescriptorResponse",
      "fileDescriptorResponse",
      "allExtensionNumbersResponse",
      ...Array.from({ length: 4 }, () => "errorResponse"),
    ]);
    expect(answers[2]?.value).toMatchObject({ extensionNumber: expect.arrayContaining([50001, 50007]) });
    expect(answers[3]?.value).toMatchObject({ errorCode: Code.NotFound });
  });
});

test("[grpc §1] odd requests to health and reflection end alone", async () => {
  await using edges = await startEdges();
  const check = "/grpc.health.v1.Health/Check";
  const bad = await exchange(
    edges.port,
    `POST ${check} HTTP/1.1\r\nHost: [\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
  );
  expect(bad.text).toContain("400 Bad Request");
  expect((await fetch(edges.url + check)).status).toBe(405);
  const garbage = { method: "POST", headers: { "content-type": "application/proto" }, body: new Uint8Array([0xff]) };
  expect((await fetch(edges.url + check, garbage)).ok).toBe(false);
  const session = connectHttp2(edges.url);
  const stream = session.request({
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Watch",
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined);
  stream.end(Buffer.from([0, 0, 0, 0, 0]));
  await once(stream, "data");
  session.destroy();
  expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
});
