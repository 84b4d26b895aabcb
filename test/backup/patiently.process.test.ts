import { describe, expect, onTestFinished, test } from "vitest";
import { spawnLatchkey } from "../../bench/harness/latchkeyProcess.ts";
import { openMongoProxy } from "../../bench/harness/mongoProxy.ts";
import { eventually } from "../support/eventually.ts";
import { sampleBackup } from "../support/sampleBackup.ts";
import { places } from "../support/storePlaces.ts";

describe.each(places)("on %s", (engine, make) => {
  test.skipIf(engine === "embedded")("[data §1] the commands continue once the connection to MongoDB is back", async () => {
    const target = await make();
    const file = await sampleBackup(await make());
    const { url, network: proxy } = await openMongoProxy(target.env.MONGODB_URL ?? "");
    onTestFinished(() => proxy.close());
    const child = spawnLatchkey(["restore", file], { ...target.env, MONGODB_URL: url, LOG_LEVEL: "error" });
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
