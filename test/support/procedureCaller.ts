import { dataOf } from "./api.ts";
import { request } from "./envelope.ts";

/** Calls procedures of a service at `url` over `/v2`, and gives `data`; anything but a success fails the test. */
export const procedureCaller =
  (url: string, rootKey: string): ((procedure: string, body: object) => Promise<Record<string, unknown>>) =>
  async (procedure, body) =>
    dataOf(await request(url, procedure, { rootKey, body }));
