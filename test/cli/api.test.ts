import { expect, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";

test.each([
  [["api"], 'no command "api"'],
  [["api", "set-ip-allowlist"], "API_ID is missing"],
  [["api", "set-ip-allowlist", "api_1"], "LIST is missing"],
  [["api", "set-ip-allowlist", "api_1", "10.0.0.0/8", "10.1.0.0/16"], 'unexpected argument "10.1.0.0/16"'],
  [["api", "set-ip-allowlist", "api_1", "10.0.0.0/8,example.com"], '"example.com" is neither an IP address nor a network'],
  [["api", "set-ip-allowlist", "api_1", "10.0.0.0/33"], "10.0.0.0/33"],
  [["api", "set-ip-allowlist", "api_1", "10.0.0.1,"], '"" is neither'],
  [["api", "set-ip-allowlist", "api_1", "10.0.0.1,".repeat(1_000).concat("10.0.0.1")], "a list has at most 1000 entries, not 1001"],
  [["api", "set-ip-allowlist", "api_1", "10.0.0.1", "--force"], "--force"],
])("[verify §9] wrong usage is refused with 2 and opens no store: %j", async (args, message) => {
  const { code, printed, complained } = await runCommand(args, { DATA_DIR: "/nonexistent/latchkey" });
  expect({ code, printed }).toEqual({ code: 2, printed: [] });
  expect(complained.join("\n")).toContain(message);
});
