import type { DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { KeysService } from "../../gen/latchkey/v2/keys_pb.ts";
import { RatelimitService } from "../../gen/latchkey/v2/ratelimit_pb.ts";

/** What the load asks for. */
export type Kind = "verify" | "limit" | "charge" | "createKey";

/** The objects that it uses. */
export interface Subjects {
  readonly apiId: string;
  /** A key without credits. */
  readonly key: string;
  /** Keys whose credits are spent, `CREDITS` each at the beginning. */
  readonly charged: readonly { readonly key: string; readonly keyId: string }[];
}

/** One call, for any protocol: what it says in JSON is the same in all of them. */
export interface Work {
  readonly kind: Kind;
  /** Of `/v2`. */
  readonly procedure: string;
  readonly method: DescMethodUnary;
  readonly body: JsonObject;
}

/** The `data` of an answer, whatever the protocol. */
export interface AnswerData {
  readonly valid?: boolean;
  readonly success?: boolean;
  readonly keyId?: string;
}

/** Credits of each charged key at the beginning: more than are spent. */
export const CREDITS = 1_000_000;
const identifiers = 300;

const oneOf = <T>(all: readonly T[]): T | undefined => all[Math.floor(Math.random() * all.length)];

/** @param id unique: a created key has it as its name. */
export const createWork = (kind: Kind, id: string, { apiId, key, charged }: Subjects): Work => {
  const { verifyKey, createKey } = KeysService.method;
  switch (kind) {
    case "verify":
      return { kind, procedure: "keys.verifyKey", method: verifyKey, body: { key } };
    case "charge":
      return { kind, procedure: "keys.verifyKey", method: verifyKey, body: { key: oneOf(charged)?.key ?? key } };
    case "createKey":
      return { kind, procedure: "keys.createKey", method: createKey, body: { apiId, name: id } };
    case "limit": {
      const identifier = `user ${Math.floor(Math.random() * identifiers)}`;
      const body = { namespace: "rehearsal", identifier, limit: 100_000, duration: 60_000 };
      return { kind, procedure: "ratelimit.limit", method: RatelimitService.method.limit, body };
    }
  }
};

/** True when it was done: an answer may also say no. */
export const isDone = (kind: Kind, { valid, success, keyId }: AnswerData): boolean =>
  kind === "limit" ? success === true : kind === "createKey" ? keyId !== undefined : valid === true;
