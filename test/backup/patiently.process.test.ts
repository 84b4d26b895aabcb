import { describe, expect, onTestFinished, test } from "vitest";
import { spawnLatchkey } from "../../bench/harness/latchkeyProcess.ts";
import { openProxy } from "../../bench/harness/proxy.ts";
import { eventually } from "../support/eventually.ts";
import { sampleBackup } from "../support/sampleBackup.ts";
import { places } from "../support/storePlaces.ts";

describe.each(places)("on %s", (engine, make) => {
  test.skipIf(engine === "embedded")("[data §1] the commands go on once the connection to MongoDB is back", async () => {
    const target = await make();
    const file = await sampleBackup(await make());
    const url = new URL(target.env.MONGODB_URL ?? "");
    const proxy = await openProxy({ host: url.hostname, port: Number(url.port || 27017) });
    onTestFinished(() => proxy.close());
    url.host = `127.0.0.1:${proxy.port}`;
    url.searchParams.set("directConnection", "true");
    const child = spawnLatchkey(["restore", file], { ...target.env, MONGODB_URL: url.href, LOG_LEVEL: "error" });
    let output = "";
    const hear = (text: string): void => {
      output += text;
    };
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", hear);
    const ended = new Promise((resolve) => child.on("close", resolve));
    const direct = await target.open("restore");
    await eventually(async () => expect((await direct.collection("system").findOne({ _id: "schema" }))?.restoring).toBeDefined());
    proxy.cut();
    await eventually(async () => expect(output).toContain("trying again in 1 second"));
    proxy.resume();
    expect([await ended, output]).toEqual([0, expect.stringContaining("restored and compared")]);
  });
});
