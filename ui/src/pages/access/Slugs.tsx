import type { JSX } from "preact";

/** The question who holds a permission, as a link. */
export const holdersHref = (slug: string): string => `/ui/access?tab=holders&permission=${encodeURIComponent(slug)}`;

/** Slugs that each lead to who holds them. */
export const Slugs = ({ slugs, label }: { readonly slugs: readonly string[]; readonly label: string }): JSX.Element => (
  <ul class="slugs" aria-label={label}>
    {slugs.map((slug) => (
      <li key={slug}>
        <a href={holdersHref(slug)}>
          <code>{slug}</code>
        </a>
      </li>
    ))}
  </ul>
);
