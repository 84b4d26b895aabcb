import { RatelimitService } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { type Answer, type CallOptions, call } from "../../data/calls/call.ts";
import { CallError } from "../../data/calls/callError.ts";

/** A namespace as its page needs it. */
export interface NamespaceNames {
  /** `rlns_…` */
  readonly id: string;
  readonly name: string;
}

const { listNamespaces, listCounters } = RatelimitService.method;

/** Longest text of a search, in characters (management §3). */
const longestSearch = 256;

/**
 * The namespace of an id or a name, the id first (ratelimit §1). One that the session may not list is taken as it stands: what the
 * session may do with it works all the same.
 * @throws {CallError} notFound where the session would see it if it were there
 */
export const readNamespace = async (given: string, options: CallOptions): Promise<Answer<NamespaceNames>> => {
  const search = [...given].slice(0, longestSearch).join("");
  let named: NamespaceNames | undefined;
  for (let cursor: string | undefined; ; ) {
    const request = { search, limit: 100n, ...(cursor === undefined ? {} : { cursor }) };
    const { message } = await call(listNamespaces, request, options);
    const withId = message.data.find(({ id }) => id === given);
    if (withId !== undefined) return { message: withId, etag: undefined };
    named ??= message.data.find(({ name }) => name === given);
    cursor = message.pagination?.cursor;
    if (message.pagination?.hasMore !== true || cursor === undefined) break;
  }
  if (named === undefined && missingReason(listCounters, { id: "*" }) === undefined) {
    throw new CallError("notFound", `The namespace ${given} does not exist.`, { title: "Not Found" });
  }
  return { message: named ?? { id: given, name: given }, etag: undefined };
};
