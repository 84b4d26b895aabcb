import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { refreshSession } from "./data/access/session.ts";
import { session } from "./data/access/sessionState.ts";
import { type CallError, readCallError } from "./data/calls/callError.ts";
import { LiveRegion } from "./design/states/LiveRegion.tsx";
import { Skeleton } from "./design/states/Skeleton.tsx";
import { Unavailable } from "./design/states/Unavailable.tsx";
import { address, navigate, queryParams } from "./router/address.ts";
import { afterSignIn, signInAddress } from "./router/afterSignIn.ts";
import { findRoute, home } from "./router/routes.ts";
import { LazyShell } from "./shell/LazyShell.tsx";
import { PageOutlet } from "./shell/PageOutlet.tsx";

/** Sends those without a session to sign in, and those with one on to where they wanted to go. @param isNew the session began on this page */
const redirect = (withoutSession: boolean, isNew: boolean): string | undefined => {
  const { path, query } = address.value;
  if (session.value === "unknown") return undefined;
  if (session.value === "signedOut") return withoutSession ? undefined : signInAddress(path + query);
  if (path === "/ui/sign-in") {
    const failure = queryParams.value.get("oidc");
    // A person with a session who returns from the provider without success wanted to confirm who they are.
    return failure === null || isNew
      ? afterSignIn(queryParams.value.get("next"))
      : `/ui/confirmed?${new URLSearchParams({ oidc: failure })}`;
  }
  return path.replace(/\/$/, "") === "/ui" && path !== home ? home : undefined;
};

/** The console. */
export const App = (): JSX.Element => {
  const [error, setError] = useState<CallError>();
  const look = (): void => {
    refreshSession().then(
      () => setError(undefined),
      (thrown) => setError(readCallError(thrown)),
    );
  };
  useEffect(look, []);
  const found = findRoute(address.value.path);
  const withoutSession = found?.route.withoutSession === true;
  const wasSignedOut = useRef(false);
  wasSignedOut.current ||= session.value === "signedOut";
  const target = redirect(withoutSession, wasSignedOut.current);
  useEffect(() => {
    if (target !== undefined) navigate(target, { replace: true });
  }, [target]);

  const content = (): JSX.Element => {
    if (withoutSession && found !== undefined && typeof session.value === "string") {
      return <PageOutlet route={found.route} params={found.params} />;
    }
    if (session.value === "unknown" && error !== undefined) return <Unavailable error={error} onRetry={look} />;
    if (typeof session.value === "string" || target !== undefined) return <Skeleton />;
    return <LazyShell />;
  };
  return (
    <>
      {content()}
      <LiveRegion />
    </>
  );
};
