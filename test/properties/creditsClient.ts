import { expect } from "vitest";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import type { Action, Seen } from "./creditsModel.ts";

/** Calls one node; answers as `/v2` does. */
export type Node = (procedure: string, body: object) => Promise<Answer>;

const data = ({ status, body }: Answer): Record<string, unknown> => {
  expect({ status, error: body.error }).toEqual({ status: 200 });
  return body.data as Record<string, unknown>;
};
const dataOr400 = (answer: Answer): Seen => (answer.status === 400 ? "400" : data(answer));

const creditsOf = ({ credits }: Record<string, unknown>): Seen => (credits === undefined ? {} : { credits });

export const readCredits = async (node: Node, keyId: string): Promise<Seen> => creditsOf(data(await node("keys.getKey", { keyId })));

/** Carries out one action on a key; what its caller sees. */
export const carryOut = async (node: Node, { keyId, key }: { keyId: string; key: string }, action: Action): Promise<Seen> => {
  switch (action.do) {
    case "verify": {
      const { code, credits } = data(await node("keys.verifyKey", { key, credits: { cost: action.cost } }));
      return { code, ...(credits === undefined ? {} : { credits }) };
    }
    case "set":
    case "increment":
    case "decrement":
      return dataOr400(await node("keys.updateCredits", { keyId, operation: action.do, value: action.value }));
    case "configure":
      return dataOr400(await node("keys.updateKey", { keyId, credits: action.credits }));
    case "reroll":
      return readCredits(node, data(await node("keys.rerollKey", { keyId, expiration: null })).keyId as string);
    case "read":
      return readCredits(node, keyId);
  }
};

/** A new key with these credits, in an API of its own. */
export const createKey = async (node: Node, credits: object | undefined): Promise<{ keyId: string; key: string }> => {
  const { apiId } = data(await node("apis.createApi", { name: "modelled" }));
  return data(await node("keys.createKey", { apiId, ...(credits === undefined ? {} : { credits }) })) as { keyId: string; key: string };
};
