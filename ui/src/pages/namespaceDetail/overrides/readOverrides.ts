import { type Override, RatelimitService } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { type Answer, type CallOptions, call } from "../../../data/calls/call.ts";

/** Overrides that the page takes: which one matches can be told only with all of them. */
const most = 5000;

/** All overrides of a namespace, ascending by id, up to 5,000. */
export const readOverrides = async (namespace: string, options: CallOptions): Promise<Answer<readonly Override[]>> => {
  const overrides: Override[] = [];
  let cursor = "";
  for (;;) {
    const { message } = await call(RatelimitService.method.listOverrides, { namespace, limit: 100n, cursor }, options);
    overrides.push(...message.data);
    cursor = message.pagination?.cursor ?? "";
    if (message.pagination?.hasMore !== true || overrides.length >= most) return { message: overrides, etag: undefined };
  }
};
