import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { call } from "../../data/calls/call.ts";
import { findable } from "../../data/findable.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { NotSearched } from "../../design/states/NotSearched.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { ExportKeys } from "../../design/tables/ExportKeys.tsx";
import { Time } from "../../design/values/Time.tsx";
import { idTarget } from "../../router/idTarget.ts";
import { routes } from "../../router/routes.ts";
import { useFound } from "../../router/useFound.ts";

const { searchKeys } = KeysService.method;

const columns: readonly Column<Key>[] = [
  {
    id: "name",
    label: "Name",
    narrow: true,
    cell: ({ keyId, name }) => <a href={`/ui/keys/${encodeURIComponent(keyId)}`}>{name ?? keyId}</a>,
  },
  { id: "start", label: "Begins with", narrow: true, cell: ({ start }) => <code>{start === "" ? "–" : `${start}…`}</code> },
  { id: "externalId", label: "Identity", cell: ({ identity }) => identity?.externalId ?? <span class="quiet">–</span> },
  { id: "keyId", label: "ID", cell: ({ keyId }) => <code>{keyId}</code> },
  { id: "enabled", label: "Enabled", cell: ({ enabled }) => (enabled ? "yes" : "no") },
  { id: "lastUsedAt", label: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} none="never" relative /> },
  {
    id: "apiId",
    label: "API",
    optional: true,
    cell: ({ apiId }) => (apiId === undefined ? "–" : <a href={`/ui/apis/${encodeURIComponent(apiId)}`}>{apiId}</a>),
  },
];

/** Keys have a table of their own. */
const keysPath = "/ui/keys/:id";

const Found = ({ text }: { readonly text: string }): JSX.Element => {
  const keys = usePages(searchKeys, { query: text, limit: 100n }, (answer) => answer);
  const { objects: others, forbidden } = useFound(findable(text).mayBeName ? text : "", 0, keysPath);
  const target = idTarget(text, routes);
  const { mayBeSecret } = findable(text);
  return (
    <>
      {target !== undefined && (
        <p>
          <a href={target}>Open {text}</a>
        </p>
      )}
      <QueryView query={keys}>
        {(rows) =>
          rows.length === 0 ? (
            others.length === 0 && (
              <EmptyState>{mayBeSecret ? "No key has this secret." : `Nothing that you may read is “${text}”.`}</EmptyState>
            )
          ) : (
            <>
              <div class="actions">
                <ExportKeys
                  fileName="keys-found"
                  readPage={async (cursor, options) => (await call(searchKeys, { query: text, limit: 100n, cursor }, options)).message}
                >
                  All keys found, without their secrets.
                </ExportKeys>
              </div>
              <DataTable
                label="Keys found"
                columns={columns}
                rows={rows}
                rowKey={({ keyId }) => keyId}
                more={keys.hasMore ? { loading: keys.loadingMore, load: keys.loadMore } : undefined}
              />
            </>
          )
        }
      </QueryView>
      <NotSearched forbidden={forbidden} />
      {others.length > 0 && (
        <section class="section" aria-labelledby="found-others">
          <h2 id="found-others">Elsewhere</h2>
          <ul>
            {others.map(({ label, detail, href }) => (
              <li key={href}>
                <a href={href}>{label}</a> <span class="quiet">{detail}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
};

/**
 * `/ui/find`: finds anything by id, start, end, name, external id, or a whole key. The search text may be a secret: it is sent
 * in bodies only, and never stored or put into the URL.
 */
export const Page = (): JSX.Element => {
  const [typed, setTyped] = useState("");
  const [text, setText] = useState("");
  const { mayBeSecret } = findable(text);
  return (
    <PageFrame
      title="Find"
      actions={<CodeDrawer method={searchKeys} request={text === "" ? {} : { query: mayBeSecret ? "$KEY" : text }} />}
    >
      <Form
        onSubmit={() => setText(typed.trim())}
        error={undefined}
        fields={["query"]}
        actions={
          <Button kind="primary" type="submit">
            Find
          </Button>
        }
      >
        <TextField
          label="What to find"
          name="query"
          type="search"
          value={typed}
          onChange={setTyped}
          hint="An ID, the start of a key or its last four characters, a name, an external ID, or a whole key, which is not put into the address."
        />
      </Form>
      {text === "" ? <p class="quiet">Keys are found in every API that you may read.</p> : <Found key={text} text={text} />}
    </PageFrame>
  );
};
