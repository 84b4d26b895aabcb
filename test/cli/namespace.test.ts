import { expect, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";

test.each([
  [["namespace"], 'no command "namespace"'],
  [["namespace", "delete"], "ID_OR_NAME is missing"],
  [["namespace", "delete", "a", "b"], 'unexpected argument "b"'],
])("[ratelimit §4] wrong usage is refused with 2 and opens no store: %j", async (args, message) => {
  const { code, printed, complained } = await runCommand(args, { DATA_DIR: "/nonexistent/latchkey" });
  expect({ code, printed }).toEqual({ code: 2, printed: [] });
  expect(complained.join("\n")).toContain(message);
});
