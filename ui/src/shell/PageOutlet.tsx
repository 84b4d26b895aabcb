import type { JSX } from "preact";
import { PageFrame } from "../design/navigation/PageFrame.tsx";
import { PartFailed } from "../design/states/PartFailed.tsx";
import { Skeleton } from "../design/states/Skeleton.tsx";
import { loadedPage, loadPage } from "../router/loadPage.ts";
import type { PathParams } from "../router/matchPath.ts";
import type { Route } from "../router/route.ts";
import { usePart } from "../router/usePart.ts";

/** The page of a route, loaded when it is first shown. */
export const PageOutlet = ({ route, params }: { readonly route: Route; readonly params: PathParams }): JSX.Element => {
  const {
    part: Page,
    error,
    retry,
  } = usePart(
    route,
    () => loadPage(route),
    () => loadedPage(route),
  );
  // Another object is another page: nothing of the one before is shown, not even for a moment.
  if (Page !== undefined) return <Page key={Object.values(params).join("/")} params={params} />;
  if (error === undefined) return <Skeleton lines={6} />;
  return (
    <PageFrame title={route.title}>
      <PartFailed error={error} onRetry={retry} />
    </PageFrame>
  );
};
