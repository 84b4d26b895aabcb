import { Agent, request } from "node:http";
import { type Attack, onLines } from "./attack.ts";

/** A body that costs the server more than it costs its sender. */
export interface BodyAttack {
  readonly name: string;
  readonly description: string;
  /** Of a root key that may not call it. */
  readonly procedure: string;
  readonly edge: "v2" | "connect";
  /** Made once, when the attack begins. */
  readonly bytes: () => Buffer;
  /** Beside the content type. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Bodies on their way at the same time; 8 unless told. */
  readonly connections?: number;
}

const pathOf = (procedure: string, edge: BodyAttack["edge"]): string => {
  const [namespace = "", method = ""] = procedure.split(".");
  const upper = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
  return edge === "v2" ? `/v2/${procedure}` : `/latchkey.v2.${upper(namespace)}Service/${upper(method)}`;
};

/** Sends a body again and again on several connections. */
export const sendBodies = ({ name, description, procedure, edge, bytes, headers, connections = 8 }: BodyAttack): Attack => ({
  name,
  description,
  run: async (attacker) => {
    const { target, count } = attacker;
    const body = bytes();
    const agent = new Agent({ keepAlive: true, maxSockets: connections });
    const own = {
      "content-type": "application/json",
      authorization: `Bearer ${target.useless}`,
      "content-length": body.length,
      ...headers,
    };
    await onLines(
      connections,
      attacker,
      () =>
        new Promise((resolve, reject) => {
          const call = request(target.url + pathOf(procedure, edge), { agent, method: "POST", headers: own }, (response) => {
            count(response.statusCode ?? 0);
            response.resume();
            response.on("end", resolve).on("error", reject);
          });
          call.on("error", reject);
          call.end(body);
        }),
    );
  },
});
