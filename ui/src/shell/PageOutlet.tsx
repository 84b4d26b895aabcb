import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { PageFrame } from "../design/navigation/PageFrame.tsx";
import { PartFailed } from "../design/states/PartFailed.tsx";
import { Skeleton } from "../design/states/Skeleton.tsx";
import { loadedPage, loadPage } from "../router/loadPage.ts";
import type { PathParams } from "../router/matchPath.ts";
import type { PageProps, Route } from "../router/route.ts";

/** The page of a route, loaded when it is first shown. */
export const PageOutlet = ({ route, params }: { readonly route: Route; readonly params: PathParams }): JSX.Element => {
  const [shown, setShown] = useState<{ readonly route: Route; readonly Page?: ComponentType<PageProps> }>();
  useEffect(() => {
    let current = true;
    loadPage(route).then(
      (Page) => current && setShown({ route, Page }),
      () => current && setShown({ route }),
    );
    return () => {
      current = false;
    };
  }, [route]);
  const Page = loadedPage(route) ?? (shown?.route === route ? shown.Page : undefined);
  // Another object is another page: nothing of the one before is shown, not even for a moment.
  if (Page !== undefined) return <Page key={Object.values(params).join("/")} params={params} />;
  if (shown?.route === route) {
    return (
      <PageFrame title={route.title}>
        <PartFailed />
      </PageFrame>
    );
  }
  return <Skeleton lines={6} />;
};
