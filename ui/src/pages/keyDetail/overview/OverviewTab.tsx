import type { ComponentChildren, JSX } from "preact";
import { KeysService } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { lacking, type Unseen, unseenBy } from "../../../data/access/unseen.ts";
import { CodeBlock } from "../../../design/values/CodeBlock.tsx";
import { Time } from "../../../design/values/Time.tsx";
import type { KeyTabProps } from "../useKey.ts";
import { CreditsSection } from "./CreditsSection.tsx";
import { LimitsSection } from "./LimitsSection.tsx";
import { PermissionsSection } from "./PermissionsSection.tsx";

const Fact = ({ label, children }: { readonly label: string; readonly children: ComponentChildren }): JSX.Element => (
  <div>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
);

/** Why the API of a key is not known. */
const apiUnknown = (unseen: Unseen): string => (unseen.permissions.length === 0 ? "–" : `Not shown. ${lacking(unseen)}`);

/** Every field of a key, with what moves: balance, windows of its limits, effective permissions. */
export const OverviewTab = (props: KeyTabProps): JSX.Element => {
  const { stored, api } = props;
  const { identity, meta } = stored;
  return (
    <>
      <dl class="facts">
        <Fact label="Name">{stored.name ?? <span class="quiet">none</span>}</Fact>
        <Fact label="API">
          {api === undefined ? (
            <span class="quiet">{apiUnknown(unseenBy(KeysService.method.searchKeys))}</span>
          ) : (
            <a href={`/ui/apis/${encodeURIComponent(api.id)}`}>{api.name}</a>
          )}
        </Fact>
        <Fact label="Identity">
          {identity === undefined ? (
            <span class="quiet">none</span>
          ) : (
            <a href={`/ui/identities/${encodeURIComponent(identity.externalId)}`}>{identity.externalId}</a>
          )}
        </Fact>
        <Fact label="Expires">
          <Time at={stored.expires} none="never" />
        </Fact>
        <Fact label="Last used">
          <Time at={stored.lastUsedAt} none="never" relative />
        </Fact>
        <Fact label="Created">
          <Time at={stored.createdAt} />
        </Fact>
        <Fact label="Changed">
          <Time at={stored.updatedAt} none="never" />
        </Fact>
        <Fact label="Begins with">{stored.start === "" ? <span class="quiet">not known yet</span> : <code>{stored.start}</code>}</Fact>
      </dl>
      <CreditsSection {...props} />
      <LimitsSection {...props} />
      <PermissionsSection {...props} />
      <section class="section" aria-labelledby="key-meta">
        <h2 id="key-meta">Meta</h2>
        {meta === undefined ? <p class="quiet">None.</p> : <CodeBlock label="Meta as JSON" text={JSON.stringify(meta, null, 2)} />}
      </section>
    </>
  );
};
