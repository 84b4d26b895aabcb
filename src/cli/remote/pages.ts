import { CommandFailure } from "../command.ts";
import type { CallOptions, CallService } from "./callService.ts";

/** The most pages that are followed: no loop of cursors is endless. */
export const MOST_PAGES = 10_000;

export interface Page {
  readonly rows: readonly unknown[];
  /** Of the next page; undefined on the last. */
  readonly cursor: string | undefined;
}

/** The pages of a list from the one that `body` asks for on, at most `most`, one at a time. */
export async function* pagesOf(
  call: CallService,
  procedure: string,
  body: object,
  { most = MOST_PAGES, ...options }: CallOptions & { readonly most?: number } = {},
): AsyncGenerator<Page> {
  let cursor: string | undefined;
  for (let page = 0; page < most; page++) {
    const answer = await call(procedure, cursor === undefined ? body : { ...body, cursor }, options);
    if (!Array.isArray(answer.data)) throw new CommandFailure(1, `${procedure} answered without a list`);
    if (answer.cursor !== undefined && answer.cursor === cursor) throw new CommandFailure(1, `${procedure} answered the same cursor twice`);
    cursor = answer.cursor;
    yield { rows: answer.data, cursor };
    if (cursor === undefined) return;
  }
}

/** All rows of a list. Rejects when there are more pages than `MOST_PAGES`. */
export const allRows = async (call: CallService, procedure: string, body: object = {}): Promise<unknown[]> => {
  const rows: unknown[] = [];
  let more: string | undefined;
  for await (const page of pagesOf(call, procedure, body)) {
    rows.push(...page.rows);
    more = page.cursor;
  }
  if (more !== undefined) throw new CommandFailure(1, `${procedure} has more than ${MOST_PAGES} pages`);
  return rows;
};
