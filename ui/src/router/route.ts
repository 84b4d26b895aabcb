import type { ComponentType } from "preact";
import type { PathParams } from "./matchPath.ts";

/** The properties of a page. */
export interface PageProps {
  /** Parameters in the route's path. */
  readonly params: PathParams;
}

/** Something that the palette can go to. */
export interface FoundObject {
  readonly label: string;
  /** `api_…`, shown beside the label. */
  readonly detail?: string;
  readonly href: string;
}

/** One page. Each folder below pages/ has a `route.ts` that exports one as `route`; nothing else lists it. */
export interface Route {
  /** `/ui/apis/:id` */
  readonly path: string;
  /** Title of the document and the main heading: "APIs". */
  readonly title: string;
  /** Its place in the navigation, ascending; none: it is not there. */
  readonly navigation?: number;
  /** Loads the page when it is first shown. */
  readonly load: () => Promise<{ readonly Page: ComponentType<PageProps> }>;
  /** Needs no session, and no shell around it. */
  readonly withoutSession?: true;
  /** Finds objects for the palette by what was typed. */
  readonly search?: (text: string, signal: AbortSignal) => Promise<readonly FoundObject[]>;
  /** The path of an id of this page's objects, for ids that are pasted: `api_…` → `/ui/apis/api_…`. */
  readonly idPrefix?: string;
  /** Where such an id leads when it is not in the page's path: `/ui/root-keys?key=:id`. */
  readonly idPath?: string;
}
