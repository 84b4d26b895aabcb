import type { JSX } from "preact";
import type { NamespaceNames } from "../readNamespace.ts";
import { BusiestIdentifiers } from "./BusiestIdentifiers.tsx";
import { LiveCounters } from "./LiveCounters.tsx";

/** The present counters, and the identifiers that were checked most. */
export const IdentifiersTab = ({ namespace }: { readonly namespace: NamespaceNames }): JSX.Element => (
  <>
    <LiveCounters namespace={namespace} />
    <BusiestIdentifiers namespace={namespace} />
  </>
);
