import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ConsoleService, type ListedSession } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import { signOut } from "../../data/access/session.ts";
import { person, session } from "../../data/access/sessionState.ts";
import { call } from "../../data/calls/call.ts";
import { type CallError, readCallError } from "../../data/calls/callError.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { Button } from "../../design/actions/Button.tsx";
import { announce } from "../../design/states/announcements.ts";
import { ErrorNote } from "../../design/states/ErrorNote.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { Time } from "../../design/values/Time.tsx";
import { browserName } from "./browserName.ts";

const { listSessions, endSession } = ConsoleService.method;

/** Milliseconds between looks, so that a session which was opened elsewhere shows. */
const pollEvery = 30_000;

/** From where a session was opened, for its row and its button. */
const placeOf = ({ address, userAgent }: ListedSession): string => `${browserName(userAgent)} at ${address ?? "an unknown address"}`;

const columns = (ending: string | undefined, end: (shown: ListedSession) => void): readonly Column<ListedSession>[] => [
  {
    id: "place",
    label: "Opened with",
    narrow: true,
    cell: (shown) => (
      <>
        {shown.current && <strong>This one: </strong>}
        <span title={shown.userAgent}>{placeOf(shown)}</span>
      </>
    ),
  },
  { id: "createdAt", label: "Opened", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { id: "lastUsedAt", label: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative /> },
  { id: "sessionId", label: "ID", optional: true, cell: ({ sessionId }) => <code>{sessionId}</code> },
  {
    id: "end",
    label: "End it",
    narrow: true,
    cell: (shown) => (
      <Button
        pending={ending === shown.sessionId}
        label={shown.current ? "End this session" : `End the session of ${placeOf(shown)}`}
        onClick={() => end(shown)}
      >
        End
      </Button>
    ),
  },
];

/** The sessions of the caller's root key, or of the caller as a person. Each can be ended, the present one too (console §2.3). */
export const SessionsTab = (): JSX.Element => {
  const sessions = useQuery(listSessions, {}, { pollEvery });
  const [ending, setEnding] = useState<string>();
  const [error, setError] = useState<CallError>();
  const others = (sessions.data?.data ?? []).filter(({ current }) => !current);

  /** One call for each; the first that fails ends it. A session that has ended by itself is what was wanted. */
  const end = async (wanted: readonly ListedSession[]): Promise<void> => {
    setError(undefined);
    try {
      for (const { sessionId, current } of wanted) {
        setEnding(sessionId);
        if (current) return await signOut();
        await call(endSession, { sessionId }).catch((thrown) => {
          if (readCallError(thrown).kind !== "notFound") throw thrown;
        });
      }
      announce(wanted.length === 1 ? "The session has ended." : `${wanted.length} sessions have ended.`);
    } catch (thrown) {
      setError(readCallError(thrown));
    } finally {
      setEnding(undefined);
      sessions.reload();
    }
  };

  return (
    <>
      <p class="quiet">
        {person.value === undefined ? (
          "The sessions that were opened with the same root key as yours. Revoking that key ends all of them."
        ) : (
          <>
            Your sessions as {person.value.name ?? person.value.subject} of <code>{person.value.issuer}</code>.
          </>
        )}
        {typeof session.value !== "string" && (
          <>
            {" "}
            Your session ends at <Time at={session.value.expiresAt} />.
          </>
        )}
      </p>
      {error !== undefined && <ErrorNote error={error} />}
      <QueryView query={sessions}>
        {({ data: rows }) => (
          <>
            <DataTable
              label="Sessions"
              columns={columns(ending, (shown) => void end([shown]))}
              rows={rows}
              rowKey={({ sessionId }) => sessionId}
            />
            <div class="actions">
              <Button
                onClick={() => void end(others)}
                pending={ending !== undefined}
                disabledBecause={others.length === 0 ? "There is no other session." : undefined}
              >
                End all others
              </Button>
            </div>
          </>
        )}
      </QueryView>
    </>
  );
};
