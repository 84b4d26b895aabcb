// @same-on-every-engine
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, startApi } from "../support/api.ts";
import { engines } from "../support/stores.ts";

const run = promisify(execFile);
const document = join(import.meta.dirname, "../../docs/openapi.json");

/** `npm ci` in this folder installs the generator; a newcomer may not have done so. Where everything is tested, it is there. */
const typescript = join(import.meta.dirname, "clients/typescript");
const generator = join(typescript, "node_modules/.bin/openapi-typescript");

/** A Python that has what `test/sdk/requirements.txt` names. */
const python = process.env.LATCHKEY_TEST_PYTHON;
const pythonFolder = join(import.meta.dirname, "clients/python");

describe.each(engines)("clients made of openapi.json on $name", (engine) => {
  let api: Api;
  let folder: string;
  beforeAll(async () => {
    api = await startApi(engine);
    folder = mkdtempSync(join(tmpdir(), "latchkey-openapi-"));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await api.close();
    await engine.close();
  });

  const env = () => ({ SERVICE_URL: api.url, ROOT_KEY: api.rootKey });
  const printed = { code: "VALID", credits: 7, type: "unkey/data/key_not_found", passed: true, etag: true };

  test.skipIf(!existsSync(generator))("openapi-typescript makes types that fit, and a client with them works", async () => {
    // Without it, fields that have a default would be required in requests.
    await run(generator, [document, "--default-non-nullable=false", "--output", join(typescript, "gen/v2.d.ts")]);
    await run(join(typescript, "node_modules/.bin/tsc"), ["-p", typescript]);
    const { stdout } = await run(process.execPath, [join(typescript, "client.ts")], { env: env() });
    expect(JSON.parse(stdout)).toEqual(printed);
  });

  test.skipIf(python === undefined)("openapi-python-client makes a client that works, without leaving anything out", async () => {
    const client = join(folder, "latchkey_client");
    const options = ["--meta", "none", "--config", join(pythonFolder, "generator.yaml"), "--output-path", client];
    const said = await run(python ?? "", ["-m", "openapi_python_client", "generate", "--path", document, ...options]);
    expect(said.stdout + said.stderr).not.toMatch(/warning|error/i);
    const { stdout } = await run(python ?? "", [join(pythonFolder, "client.py")], {
      env: { ...env(), PYTHONPATH: folder },
    });
    expect(JSON.parse(stdout)).toEqual(printed);
  });
});
