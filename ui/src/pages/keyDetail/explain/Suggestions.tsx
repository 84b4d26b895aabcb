import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type ExplainSuggestion, KeysService } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { missingReason } from "../../../data/access/missingReason.ts";
import { useMutation } from "../../../data/hooks/useMutation.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { ReviewKeyChange } from "../actions/ReviewKeyChange.tsx";
import { directPermissions } from "../permissionSources.ts";
import type { KeyTabProps } from "../useKey.ts";
import { useSources } from "../useSources.ts";
import { AllowAddress } from "./AllowAddress.tsx";

/** Changes that would make the key pass. Each can be reviewed and saved. */
export const Suggestions = (props: KeyTabProps & { readonly suggestions: readonly ExplainSuggestion[] }): JSX.Element | null => {
  const { stored, etag, api, suggestions } = props;
  const [chosen, setChosen] = useState<{ readonly suggestion: ExplainSuggestion; readonly seen: Pick<KeyTabProps, "stored" | "etag"> }>();
  const update = useMutation(KeysService.method.updateKey);
  const sources = useSources(stored);
  const close = (): void => setChosen(undefined);
  const forbidden = missingReason(update.method, api === undefined ? {} : { api_id: api.id });
  const { updateKey, updateApi } = chosen?.suggestion ?? {};
  return (
    <>
      {suggestions.length > 0 && (
        <section class="section" aria-labelledby="key-suggestions">
          <h2 id="key-suggestions">How to make it pass</h2>
          <ul class="suggestions">
            {suggestions.map((suggestion) => (
              <li key={suggestion.text}>
                <span>{suggestion.text}</span>
                {(suggestion.updateKey !== undefined || suggestion.updateApi !== undefined) && (
                  <Button
                    onClick={() => setChosen({ suggestion, seen: { stored, etag } })}
                    disabledBecause={suggestion.updateKey === undefined ? undefined : forbidden}
                  >
                    Review and apply
                  </Button>
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
      {chosen !== undefined && updateKey !== undefined && (
        <ReviewKeyChange
          {...props}
          seen={chosen.seen}
          direct={sources.data === undefined ? undefined : directPermissions(chosen.seen.stored.permissions, sources.data)}
          update={update}
          request={updateKey}
          action="Save changes"
          done="Saved."
          onDone={close}
          onClose={close}
        />
      )}
      {updateApi !== undefined && <AllowAddress change={updateApi} onClose={close} />}
    </>
  );
};
