import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveHere } from "../../../bench/harness/commandLine.ts";
import { runLatchkey } from "../../../bench/harness/latchkeyProcess.ts";
import { createCertificate } from "../../support/certificate.ts";

test("over TLS a certificate is trusted by NODE_EXTRA_CA_CERTS only", async () => {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-cli-tls-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const { cert, key } = createCertificate(directory);
  await using service = await serveHere(join(directory, "data"), { env: { TLS_CERT: cert, TLS_KEY: key } });
  const env = { LATCHKEY_URL: service.url, LATCHKEY_ROOT_KEY: await service.rootKey() };
  const create = ["apis", "create-api", "--name", "payments"];
  const distrusted = await runLatchkey(create, env);
  expect(distrusted).toMatchObject({ code: 7, stdout: "" });
  expect(distrusted.stderr).toContain(
    `the certificate of ${service.url} is not trusted; name a PEM file of its authority in NODE_EXTRA_CA_CERTS`,
  );
  const trusted = await runLatchkey(create, { ...env, NODE_EXTRA_CA_CERTS: cert });
  expect(trusted).toMatchObject({ code: 0, stdout: expect.stringMatching(/^apiId {2}api_\w+\n$/) });
});
