import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { ConsoleService } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import type { OidcFailure, OidcSignIn } from "../../../console/oidc/createOidcSignIn.ts";
import { ProviderFailure } from "../../../console/oidc/identityProvider.ts";
import { ROUND_MS } from "../../../console/oidc/roundSealer.ts";
import type { Clock } from "../../../domain/clock.ts";
import { pageAddress } from "../../../domain/console/pageAddress.ts";
import { ServiceError } from "../../../domain/errors.ts";
import { createId } from "../../../domain/ids.ts";
import { addFields, headerText } from "../../http/headerFields.ts";
import type { Capacity } from "../../pipeline/capacity.ts";
import type { ClientAddress } from "../../pipeline/clientAddress.ts";
import { send } from "../connect/rpcAnswer.ts";
import { asServiceError, type EdgeObserver } from "../edgeObserver.ts";
import { ConsoleCall } from "./consoleCall.ts";
import { giveCookie, readCookie, roundCookieOf, sessionCookieOf, takeCookie } from "./cookies.ts";
import { strangerFrom } from "./sessionCaller.ts";
import type { Transport } from "./transport.ts";

export interface OidcAnswersOptions {
  readonly signIn: OidcSignIn;
  readonly clock: Clock;
  readonly clientAddress: ClientAddress;
  readonly capacity: Pick<Capacity, "identityChecks">;
  readonly observer: EdgeObserver;
  /** Origin of `PUBLIC_URL`. */
  readonly publicUrl: string | undefined;
  readonly refuse: (res: ServerResponse, error: ServiceError, headers: OutgoingHttpHeaders) => void;
}

/** Answers a request below `/ui/oidc/`, whose address is ours. @param headers of the answer, whatever it will be */
export type OidcAnswers = (
  req: IncomingMessage,
  res: ServerResponse,
  transport: Transport,
  headers: Readonly<Record<string, string>>,
) => void;

const startPath = "/ui/oidc/start";
const callbackPath = "/ui/oidc/callback";
/** Where a session was elevated: its page has waited for that in another window. */
const elevatedPage = "/ui/confirmed";
const signInPage = "/ui/sign-in";
/** Of the page to go to, which has to fit into a cookie. */
const mostNext = 1_500;

/** Why a browser says that this is not what it was sent for; undefined: nothing speaks against it. */
const foreignSign = ({ headers }: IncomingMessage, path: string): string | undefined => {
  const site = headerText(headers["sec-fetch-site"]);
  const destination = headerText(headers["sec-fetch-dest"]);
  if (destination !== undefined && destination !== "document") return "This address is for people to go to, not for what other pages load.";
  // Whoever comes back comes from the provider, and is known by the cookie.
  const isOwn = path === callbackPath || site === "same-origin" || site === "none";
  return isOwn ? undefined : "Sign in from the console itself: the header Sec-Fetch-Site does not say that a page of it leads here.";
};

const withFailure = (page: string, failure: OidcFailure, next: string): string =>
  `${page}?${new URLSearchParams(next === "/ui" ? { oidc: failure } : { oidc: failure, next })}`;

/**
 * To the provider and back (console §2.5, §2.8): `start` sends the browser to it, `callback` opens or elevates a session and sends it
 * on to the page that was wanted. What went wrong is told by the page that it is sent to, by a word in its address.
 */
export const createOidcAnswers = ({
  signIn,
  clock,
  clientAddress,
  capacity,
  observer,
  publicUrl,
  refuse,
}: OidcAnswersOptions): OidcAnswers => {
  const redirect = (res: ServerResponse, location: string, headers: OutgoingHttpHeaders, cookies: readonly string[]): void => {
    const head = { ...headers, location, "cache-control": "no-store", "content-length": 0 };
    send(
      res,
      { status: 303, headers: cookies.length === 0 ? head : { ...head, "set-cookie": [...cookies] }, body: Buffer.alloc(0) },
      false,
    );
  };

  const start = async (call: ConsoleCall, query: URLSearchParams, transport: Transport, headers: OutgoingHttpHeaders): Promise<void> => {
    const { visit, receivedAt: now } = call;
    const elevates = query.has("elevate");
    const wanted = query.get("next") ?? "";
    const next = elevates ? elevatedPage : pageAddress(wanted.length > mostNext ? undefined : wanted);
    const origin = publicUrl ?? `${transport.scheme}://${transport.host}`;
    const aim = { next, redirectUri: origin + callbackPath, elevates };
    try {
      const { location, sealed } = await signIn.begin({ visit, now, behalf: { caller: strangerFrom(visit) } }, aim);
      const cookie = roundCookieOf(transport);
      redirect(call.res, location, headers, cookie ? [`${giveCookie(cookie, sealed)}; Max-Age=${ROUND_MS / 1_000}`] : []);
    } catch (error) {
      if (error instanceof ProviderFailure)
        redirect(call.res, withFailure(elevates ? elevatedPage : signInPage, "away", elevates ? "/ui" : next), headers, []);
      else if (error instanceof ServiceError && error.reason === "console_session_required")
        redirect(call.res, withFailure(elevatedPage, "expired", "/ui"), headers, []);
      else throw error;
    }
  };

  const callback = async (
    call: ConsoleCall,
    query: string,
    transport: Transport,
    headers: Record<string, string | string[]>,
  ): Promise<void> => {
    const { visit, receivedAt: now, userAgent, signal } = call;
    const round = roundCookieOf(transport);
    const session = sessionCookieOf(transport);
    const sealed = round && readCookie(headerText(call.requestHeaders.cookie), round.name);
    // Once: whatever comes of it, unless it is not that which came back.
    const used = round ? [takeCookie(round)] : [];
    headers["set-cookie"] = used;
    const request = { visit, now, correlationId: createId("cor", now), userAgent, signal, behalf: { caller: strangerFrom(visit), signal } };
    const outcome = await signIn.finish(request, sealed, query);
    if ("token" in outcome) {
      redirect(call.res, outcome.next, headers, session ? [...used, giveCookie(session, outcome.token)] : used);
      return;
    }
    observer.refused("console", call.method, "console_sign_in_failed");
    const { failure, next, elevates, goesOn } = outcome;
    if (goesOn) delete headers["set-cookie"];
    const page = elevates ? withFailure(elevatedPage, failure, "/ui") : withFailure(signInPage, failure, next);
    redirect(call.res, page, headers, goesOn ? [] : used);
  };

  return (req, res, transport, headers) => {
    const url = req.url ?? "";
    const at = url.indexOf("?");
    const [path, query] = at < 0 ? [url, ""] : [url.slice(0, at), url.slice(at)];
    if (path !== startPath && path !== callbackPath)
      return void refuse(res, new ServiceError("procedure_not_found", "There is nothing at this address."), headers);
    if (req.method !== "GET") {
      const error = new ServiceError("method_not_allowed", `This address accepts GET only, not ${req.method}.`);
      return void refuse(res, error, { ...headers, allow: "GET" });
    }
    const foreign = foreignSign(req, path);
    if (foreign !== undefined) return void refuse(res, new ServiceError("console_request_refused", foreign), headers);
    const call = new ConsoleCall(["console", ConsoleService.method.signIn, req, res, clock], transport, {}, clientAddress);
    const room = capacity.identityChecks.take([call.visit.network], 1);
    if (room === undefined)
      return void refuse(res, new ServiceError("service_unavailable", "Too many people are signing in. Try again shortly."), headers);
    const answerHeaders: Record<string, string | string[]> = { ...headers };
    const answer =
      path === startPath
        ? start(call, new URLSearchParams(query), transport, answerHeaders)
        : callback(call, query, transport, answerHeaders);
    answer
      .catch((error: unknown) => {
        if (!call.isGone) refuse(res, asServiceError(error, call.requestId, observer), addFields(answerHeaders, call.headers));
      })
      .catch((fault: unknown) => {
        if (!call.isGone) observer.fault(call.requestId, fault);
        call.destroy();
      })
      .finally(() => {
        room.give();
        call.release();
      });
  };
};
