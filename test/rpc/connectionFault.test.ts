import { expect, test } from "vitest";
import { isConnectionFault } from "../../src/platform/http/connectionFault.ts";

const thrownAt = (...places: readonly string[]): Error => {
  const error = new TypeError("Cannot read properties of undefined (reading 'receive')");
  error.stack = [`${error.name}: ${error.message}`, ...places.map((place) => `    at ${place}`)].join("\n");
  return error;
};
const core = "node:internal/http2/core:1385:25";

test.each([
  ["in a task of HTTP/2", [core, "process.processTicksAndRejections (node:internal/process/task_queues:85:11)"]],
  ["in an event of HTTP/2", [`ServerHttp2Session.destroy (${core})`, "ServerHttp2Session.emit (node:events:526:24)"]],
  ["in a callback of a built-in", [core, "Map.forEach (<anonymous>)", `closeSession (${core})`]],
  ["in the server of HTTP/1.1", ["socketOnData (node:_http_server:900:3)", "Socket.emit (node:events:526:24)"]],
])("an exception that Node throws %s concerns one connection", (_where, places) => {
  expect(isConnectionFault(thrownAt(...places))).toBe(true);
});

test.each([
  ["with our code on the stack", [core, "take (file:///latchkey/src/platform/http/http2Side.ts:140:5)"]],
  ["with a library on the stack", [core, "emit (file:///latchkey/node_modules/mongodb/lib/sdam/server.js:1:1)"]],
  ["in our code", ["decide (file:///latchkey/src/features/verification/decide.ts:1:1)"]],
  ["elsewhere in Node", ["fs.readSync (node:fs:1:1)", "process.processTicksAndRejections (node:internal/process/task_queues:85:11)"]],
  ["with a stack that is cut off", Array.from({ length: Error.stackTraceLimit }, () => core)],
  ["with an asynchronous caller of ours", [core, "async serveNode (file:///latchkey/src/cli/commands/serve.ts:1:1)"]],
  ["without a stack", []],
])("an exception %s may concern everything", (_where, places) => {
  expect(isConnectionFault(thrownAt(...places))).toBe(false);
});

test.each([undefined, null, "text", { stack: `    at ${core}` }])(
  "a thrown value that is not an Error may concern everything: %j",
  (thrown) => {
    expect(isConnectionFault(thrown)).toBe(false);
  },
);
