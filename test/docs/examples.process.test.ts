import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { type CommandSocket, openCommandSocket } from "./commandSocket.ts";
import { type Block, blocksOf, guides, readPage } from "./markdown.ts";
import { type Shell, startShell } from "./shell.ts";
import { comparedText, expectedJson, expectedText } from "./shown.ts";

// It turns the clock itself, and comes last: all share one service.
const CLOCK_PAGE = "docs/test-clock.md";
const pages = [...["README.md", ...guides].filter((page) => page !== CLOCK_PAGE), CLOCK_PAGE];

const NOT_RUN = "not run: ";
const REPEATED = "repeated until the answer is as shown";
const isRun = ({ comment }: Block): boolean => !comment?.startsWith(NOT_RUN);

/** Whether every block must run. Otherwise a block is left out when its program is not installed: a newcomer need not have it. */
const mustRun = process.env.CI !== undefined;
const has = (program: string, ...args: string[]): boolean => mustRun || spawnSync(program, args).status === 0;
const { LATCHKEY_TEST_PYTHON: python } = process.env;
const tools: readonly { readonly isNeeded: (block: Block) => boolean; readonly isHere: boolean }[] = [
  { isNeeded: ({ body }) => body.includes("grpcurl "), isHere: has("grpcurl", "-version") },
  { isNeeded: ({ body }) => body.includes("sqlite3 "), isHere: has("sqlite3", "-version") },
  { isNeeded: ({ language }) => language === "python", isHere: python !== undefined },
];
const isPossible = (block: Block): boolean => tools.every(({ isNeeded, isHere }) => isHere || !isNeeded(block));

const heredoc = (program: string, body: string): string => `${program} <<'END_OF_BLOCK'\n${body}\nEND_OF_BLOCK`;

/** How a block of each language is run in the shell of its page. */
const commandOf: Readonly<Record<string, (body: string) => string>> = {
  sh: (body) => body,
  ts: (body) => heredoc("node --input-type=module-typescript", body),
  python: (body) => heredoc(`'${python}' -`, body),
  sql: (body) => `latchkey analytics sql "${body.replaceAll(/(["$`\\])/g, "\\$1")}"`,
};

let service: ServiceProcess;
let socket: CommandSocket;
beforeAll(async () => {
  socket = await openCommandSocket();
  service = await startService({
    args: ["--test-clock"],
    env: { ANALYTICS: "embedded", PROFILES: "on", ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 1).toString("base64")}` },
  });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await socket[Symbol.asyncDispose]();
});

/** The commands for the service of this run, which listens on other ports and has its data elsewhere. */
const here = (commands: string): string =>
  commands
    .replaceAll("localhost:3000", new URL(service.url).host)
    .replaceAll("localhost:9090", new URL(service.adminUrl).host)
    .replaceAll(/(?<![\w./-])data\/(?:test\/)?(?=[\w.$-])/g, `${service.dataDir}/`);

/** Turns the clock to the beginning of a minute, so that no window of a limit ends while its page runs. */
const turnClock = async (time: number): Promise<void> => {
  const headers = { authorization: `Bearer ${await service.rootKey()}`, "content-type": "application/json" };
  const { status } = await fetch(`${service.url}/v2/testing.setTime`, { method: "POST", headers, body: JSON.stringify({ time }) });
  expect(status).toBe(200);
};

const startPage = (): Shell => {
  // A newcomer has no MongoDB, and no settings.
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const ports = { PORT: new URL(service.url).port, ADMIN_PORT: new URL(service.adminUrl).port };
  return startShell({ PATH, HOME, NODE_COMPILE_CACHE, DATA_DIR: service.dataDir, ...ports }, socket);
};

/** The set-up that every guide assumes: the shell as in "Getting started". */
const setUp = blocksOf(readPage("docs/getting-started.md").split("\n## Set up your shell\n")[1]?.split("\n## ")[0] ?? "");

/** The answer that is shown behind a block: JSON, or the text that it prints. */
const answerOf = (blocks: readonly Block[], index: number): Block | undefined => {
  const next = blocks[index + 1];
  return next && ["json", "text"].includes(next.language) && isRun(next) ? next : undefined;
};

const expectAnswer = (page: string, block: Block, answer: Block, output: string): void => {
  const where = `${page}:${block.line}`;
  if (answer.language === "text") expect(comparedText(output), where).toMatch(expectedText(answer.body));
  else expect({ where, answer: JSON.parse(output) }).toEqual({ where, answer: expectedJson(JSON.parse(answer.body)) });
};

const runPage = async (page: string): Promise<void> => {
  using shell = startPage();
  if (page !== "README.md" && page !== "docs/getting-started.md") for (const { body } of setUp) await shell.run(here(body));
  const blocks = blocksOf(readPage(page));
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  for (const [index, block] of blocks.entries()) {
    const command = commandOf[block.language];
    if (block.language === "yaml") parse(block.body);
    if (block.language === "json") JSON.parse(block.body);
    if (command === undefined || !isRun(block) || !isPossible(block)) continue;
    const answer = answerOf(blocks, index);
    const attempt = async (commands: string): Promise<void> => {
      const output = await shell.run(commands);
      if (answer) expectAnswer(page, block, answer, output);
    };
    const commands = here(command(block.body));
    if (page !== CLOCK_PAGE) await turnClock(minute);
    if (block.comment !== REPEATED) await attempt(commands);
    // Runs in a subshell that may fail, so that the command can be repeated.
    else await expect.poll(() => attempt(`( ${commands}\n) || true`).then(() => "as shown", String)).toBe("as shown");
  }
};

describe("the code of each page", () => {
  test.each(pages)("%s runs and gives the answers shown", (page) => runPage(page));
});

test("every block says what it is, and what is not run says why", () => {
  const known = [...Object.keys(commandOf), "json", "text", "yaml"];
  const notRun: Record<string, number> = {};
  for (const page of pages)
    for (const block of blocksOf(readPage(page))) {
      const where = `${page}:${block.line}`;
      if (isRun(block)) expect(known, where).toContain(block.language);
      else {
        expect(block.comment?.slice(NOT_RUN.length).length, where).toBeGreaterThan(20);
        notRun[page] = (notRun[page] ?? 0) + 1;
      }
    }
  expect(notRun).toEqual({
    "README.md": 1,
    "docs/backup.md": 3,
    "docs/clients.md": 1,
    "docs/command-line.md": 2,
    "docs/deployment.md": 3,
    "docs/getting-started.md": 1,
    "docs/grpc.md": 6,
    "docs/performance.md": 1,
    "docs/rate-limits.md": 1,
    "docs/root-keys.md": 1,
    "docs/ten-million-keys.md": 1,
    "docs/test-clock.md": 1,
    "docs/valkey.md": 1,
  });
});
