/** Run in the container: loads every module of the service that is not a program, and with it all that it imports. */
export const loadAll: string = `
  const { globSync } = await import("node:fs");
  const programs = ["main.ts", "engineMain.ts", "writer.ts"];
  const files = globSync("/app/src/**/*.ts").filter((file) => !programs.includes(file.split("/").at(-1)));
  for (const file of files) await import(file);
  console.log(files.length);
`;

/** Run in the container: every process with its state and user. */
export const listProcesses: string = `
  const fs = require("node:fs");
  for (const pid of fs.readdirSync("/proc").filter(Number)) {
    const field = (name) => new RegExp("^" + name + ":\\\\s+(\\\\S+)", "m").exec(fs.readFileSync("/proc/" + pid + "/status", "utf8"))[1];
    console.log(pid, field("State"), field("Uid"), fs.readFileSync("/proc/" + pid + "/cmdline", "utf8").replace(/[\\0\\n]/g, " "));
  }
`;
