import type { JSX } from "preact";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { call } from "../../data/calls/call.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { ExportKeys } from "../../design/tables/ExportKeys.tsx";
import { KeyTable } from "../../design/tables/KeyTable.tsx";

const { searchKeys } = KeysService.method;

/** The keys of an identity, of all APIs that the session may read. */
export const KeysTab = ({ externalId }: { readonly externalId: string }): JSX.Element => {
  const request = { externalId, limit: 100n };
  const keys = usePages(searchKeys, request, (answer) => answer);
  return (
    <>
      <div class="actions">
        <CodeDrawer method={searchKeys} request={request} />
        <ExportKeys
          fileName="keys-of-identity"
          readPage={async (cursor, options) => (await call(searchKeys, { ...request, cursor }, options)).message}
        >
          All keys of this identity that you may read, without their secrets.
        </ExportKeys>
      </div>
      <QueryView query={keys}>
        {(rows) =>
          rows.length > 0 || keys.hasMore ? (
            <KeyTable label="Keys of the identity" keys={rows} pages={keys} />
          ) : (
            <EmptyState>No key belongs to this identity. Create a key with its external ID.</EmptyState>
          )
        }
      </QueryView>
    </>
  );
};
