import type { JSX } from "preact";

interface Linked {
  readonly namespaceId: string;
  readonly identifier: string;
}

const linkTo = (href: string, identifier: string): JSX.Element => (
  <a href={href}>
    <code>{identifier}</code>
  </a>
);

/** An identifier that leads to its live counters. */
export const CountersLink = ({ namespaceId, identifier }: Linked): JSX.Element =>
  linkTo(`/ui/limits/${encodeURIComponent(namespaceId)}?${new URLSearchParams({ tab: "identifiers", identifier })}`, identifier);

/** An identifier that leads to its checks as they happen. */
export const TailLink = ({ namespaceId, identifier }: Linked): JSX.Element =>
  linkTo(`/ui/tail?${new URLSearchParams({ kind: "ratelimits", namespaceId, identifier })}`, identifier);
