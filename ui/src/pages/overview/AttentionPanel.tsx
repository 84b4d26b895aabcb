import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ComponentChildren, JSX } from "preact";
import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService, type SearchKeysRequestSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { unseenBy } from "../../data/access/unseen.ts";
import { requestKey } from "../../data/calls/requestKey.ts";
import { useLoad } from "../../data/hooks/useLoad.ts";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { NoRows } from "../../design/states/NoRows.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { readAttention } from "./attention.ts";
import { Panel } from "./Panel.tsx";

const { searchKeys } = KeysService.method;

/** Rows that are shown: the rest is said as a number. */
const most = 10;

/** Milliseconds between looks: what runs out within days does not need more. */
const pollEvery = 300_000;

export interface AttentionPanelProps {
  readonly title: string;
  readonly request: MessageInitShape<typeof SearchKeysRequestSchema>;
  /** The time that the request was made of. */
  readonly asOf: number;
  readonly order: (one: Key, other: Key) => number;
  /** Title of the column with the reason: "Expires". */
  readonly column: string;
  readonly cell: (key: Key) => ComponentChildren;
  /** Where there is none. */
  readonly none: string;
}

/** Keys that will be denied before long. */
export const AttentionPanel = ({ title, request, asOf, order, column, cell, none }: AttentionPanelProps): JSX.Element => {
  const found = useLoad(requestKey(searchKeys, request), (options) => readAttention(request, order, Date.now(), options), {
    pollEvery,
    asOf,
    unseen: unseenBy(searchKeys),
  });
  return (
    <Panel title={title} actions={<CodeDrawer method={searchKeys} request={request} />}>
      <QueryView query={found}>
        {({ keys, complete }) => (
          <>
            {keys.length === 0 ? (
              <NoRows>{none}</NoRows>
            ) : (
              <table aria-label={title}>
                <thead>
                  <tr>
                    <th scope="col">Key</th>
                    <th scope="col" class="wide-only">
                      Identity
                    </th>
                    <th scope="col">{column}</th>
                  </tr>
                </thead>
                <tbody>
                  {keys.slice(0, most).map((key) => (
                    <tr key={key.keyId}>
                      <th scope="row" class="breaks">
                        <a href={`/ui/keys/${encodeURIComponent(key.keyId)}`}>{key.name ?? key.keyId}</a>
                      </th>
                      <td class="wide-only breaks">{key.identity?.externalId ?? <span class="quiet">–</span>}</td>
                      <td>{cell(key)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
            {keys.length > most && <p class="quiet">And {(keys.length - most).toLocaleString("en")} more.</p>}
            {!complete && <p class="quiet">There are more keys than were looked at.</p>}
          </>
        )}
      </QueryView>
    </Panel>
  );
};
