import { expect, test } from "vitest";
import { runCommand } from "../../../bench/harness/commandLine.ts";

/** The completions of the last word. */
const offered = async (...words: string[]): Promise<readonly string[]> => {
  const { code, printed, complained } = await runCommand(["completion", "words", "--", String(words.length), ...words], {});
  expect({ code, complained }).toEqual({ code: 0, complained: [] });
  return printed;
};

test.each([
  [[""], ["api", "apis", "completion", "doctor", "help", "keys", "root-key", "root-keys", "serve"]],
  [["root"], ["root-key", "root-keys"]],
  [["keys", "create"], ["create-key"]],
  [
    ["audit", ""],
    ["export", "get-logs", "verify", "verify-chain"],
  ],
  [
    ["root-key", ""],
    ["create", "list", "revoke", "update"],
  ],
  [["help", "keys", "verify"], ["verify-key"]],
  [
    ["completion", ""],
    ["bash", "zsh"],
  ],
  [["keys", "update-key", "--no-exp"], ["--no-expires"]],
  [["keys.updateKey", "--no-exp"], ["--no-expires"]],
  [["keys", "create-key", "--credits.refill.in"], ["--credits.refill.interval"]],
  [
    ["keys", "create-key", "--credits.refill.interval", ""],
    ["daily", "monthly"],
  ],
  [["keys", "create-key", "--credits.refill.interval", "=", "m"], ["monthly"]],
  [
    ["keys", "create-key", "--credits.refill.interval", "="],
    ["daily", "monthly"],
  ],
  [["keys", "create-key", "--idem"], ["--idempotency-key"]],
  [
    ["root-key", "create", "--p"],
    ["--permission", "--plain-http"],
  ],
  [["doctor", "--"], []],
])("%j is completed by %j", async (words, wanted) => {
  expect(await offered(...words)).toEqual(words[0] === "" ? expect.arrayContaining(wanted) : wanted);
});

test("where it has nothing to say nothing is offered", async () => {
  for (const words of [
    ["nothing", ""],
    ["keys", "create-key", "--data", ""],
    ["keys", "create-key", ""],
    ["serve", ""],
  ])
    expect(await offered(...words)).toEqual([]);
});

test("another shell is refused with 2", async () => {
  expect(await runCommand(["completion", "fish"], {})).toMatchObject({
    code: 2,
    printed: [],
    complained: [expect.stringContaining("bash, zsh"), expect.anything()],
  });
  expect(await runCommand(["completion"], {})).toMatchObject({ code: 2 });
});
