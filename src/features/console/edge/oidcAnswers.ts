import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { ConsoleService } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import { ServiceError } from "../../../platform/base/errors.ts";
import { createId } from "../../../platform/base/ids.ts";
import type { Capacity } from "../../../platform/http/capacity.ts";
import type { ClientAddress } from "../../../platform/http/clientAddress.ts";
import { errorStatus } from "../../../platform/http/errorStatus.ts";
import { addFields, headerText } from "../../../platform/http/headerFields.ts";
import type { Transport } from "../../../platform/http/transport.ts";
import { send } from "../../../platform/rpc/edges/connect/rpcAnswer.ts";
import { asServiceError, type EdgeObserver } from "../../../platform/rpc/edges/edgeObserver.ts";
import type { OidcFailure, OidcSignIn } from "../oidc/createOidcSignIn.ts";
import { ProviderFailure } from "../oidc/identityProvider.ts";
import { ROUND_MS } from "../oidc/roundSealer.ts";
import { pageAddress } from "../pageAddress.ts";
import { requirePrivate } from "../signInGuard.ts";
import { ConsoleCall } from "./consoleCall.ts";
import { giveCookie, readCookie, roundCookieOf, sessionCookieOf, takeCookie } from "./cookies.ts";
import { refusalPage } from "./refusalPage.ts";
import { strangerFrom } from "./sessionCaller.ts";

export interface OidcAnswersOptions {
  readonly signIn: OidcSignIn;
  readonly clock: Clock;
  readonly clientAddress: ClientAddress;
  readonly capacity: Pick<Capacity, "identityChecks">;
  readonly observer: EdgeObserver;
  /** Origin of `PUBLIC_URL`. */
  readonly publicUrl: string | undefined;
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

/** Where a round leads. */
interface Aim {
  /** The page to go to then. */
  readonly next: string;
  /** It is for a session that there is. */
  readonly elevates: boolean;
}

/** Of a round that nothing is known of. */
const anywhere: Aim = { next: "/ui", elevates: false };

const aimOf = (query: URLSearchParams): Aim => {
  if (query.has("elevate")) return { next: elevatedPage, elevates: true };
  const wanted = query.get("next") ?? "";
  return { next: pageAddress(wanted.length > mostNext ? undefined : wanted), elevates: false };
};

/** Why a browser says that this is not what it was sent for; undefined: nothing speaks against it. */
const foreignSign = ({ headers }: IncomingMessage, path: string): string | undefined => {
  const site = headerText(headers["sec-fetch-site"]);
  const destination = headerText(headers["sec-fetch-dest"]);
  if (destination !== undefined && destination !== "document") return "This address is for people to go to, not for what other pages load.";
  // Whoever comes back comes from the provider, and is known by the cookie.
  const isOwn = path === callbackPath || site === "same-origin" || site === "none";
  return isOwn ? undefined : "Sign in from the console itself: the header Sec-Fetch-Site does not say that a page of it leads here.";
};

/** The page that says by a word why nothing came of a round. `busy`: this service could not see to it. */
const failurePage = (failure: OidcFailure | "busy", { next, elevates }: Aim): string =>
  elevates
    ? `${elevatedPage}?${new URLSearchParams({ oidc: failure })}`
    : `${signInPage}?${new URLSearchParams(next === anywhere.next ? { oidc: failure } : { oidc: failure, next })}`;

/** The word for a failure of which people are told on a page; undefined: they are refused where they are. */
const wordOf = ({ reason }: ServiceError): "expired" | "busy" | undefined => {
  if (reason === "console_session_required") return "expired";
  return errorStatus(reason).http === 503 ? "busy" : undefined;
};

/**
 * To the provider and back (console §2.5, §2.8): `start` sends the browser to it, `callback` opens or elevates a session and sends it
 * on to the page that was wanted. What went wrong is told by the page that it is sent to, by a word in its address; whoever is refused
 * (403, 429 and other mistakes) reads why in a page of its own.
 */
export const createOidcAnswers = ({ signIn, clock, clientAddress, capacity, observer, publicUrl }: OidcAnswersOptions): OidcAnswers => {
  const redirect = (res: ServerResponse, location: string, headers: OutgoingHttpHeaders): void =>
    send(
      res,
      { status: 303, headers: { ...headers, location, "cache-control": "no-store", "content-length": 0 }, body: Buffer.alloc(0) },
      false,
    );

  const refuse = (res: ServerResponse, error: ServiceError, more: OutgoingHttpHeaders): void => {
    observer.refused("console", undefined, error.reason);
    const requestId = createId("req", clock.now());
    const body = refusalPage(error, requestId);
    const form = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store", "content-length": body.length };
    send(res, { status: errorStatus(error.reason).http, headers: { ...more, ...form, "x-request-id": requestId }, body }, false);
  };

  const start = async (call: ConsoleCall, aim: Aim, transport: Transport, headers: OutgoingHttpHeaders): Promise<void> => {
    const { visit, receivedAt: now } = call;
    const redirectUri = `${publicUrl ?? `${transport.scheme}://${transport.host}`}${callbackPath}`;
    const { location, sealed } = await signIn.begin({ visit, now, behalf: { caller: strangerFrom(visit) } }, { ...aim, redirectUri });
    const cookie = roundCookieOf(transport);
    const given = cookie ? { "set-cookie": [`${giveCookie(cookie, sealed)}; Max-Age=${ROUND_MS / 1_000}`] } : {};
    redirect(call.res, location, { ...headers, ...given });
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
      if (session) used.push(giveCookie(session, outcome.token));
      redirect(call.res, outcome.next, headers);
      return;
    }
    observer.refused("console", call.method, "console_sign_in_failed");
    if (outcome.goesOn) delete headers["set-cookie"];
    redirect(call.res, failurePage(outcome.failure, outcome), headers);
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
    const call = new ConsoleCall(["console", ConsoleService.method.signIn, req, res, clock], transport, {}, clientAddress);
    const aim = path === startPath ? aimOf(new URLSearchParams(query)) : anywhere;
    const answerHeaders: Record<string, string | string[]> = { ...headers };
    const answer = async (): Promise<void> => {
      // Before what the browser says of the request, which it says over encrypted connections only.
      requirePrivate(call.visit);
      const foreign = foreignSign(req, path);
      if (foreign !== undefined) throw new ServiceError("console_request_refused", foreign);
      const room = capacity.identityChecks.take([call.visit.network], 1);
      if (room === undefined) throw new ServiceError("service_unavailable", "Too many people are signing in. Try again shortly.");
      try {
        await (path === startPath ? start(call, aim, transport, answerHeaders) : callback(call, query, transport, answerHeaders));
      } finally {
        room.give();
      }
    };
    answer()
      .catch((error: unknown) => {
        if (call.isGone) return;
        addFields(answerHeaders, call.headers);
        if (error instanceof ProviderFailure) return void redirect(res, failurePage("away", aim), answerHeaders);
        const refusal = asServiceError(error, call.requestId, observer);
        const word = wordOf(refusal);
        if (word === undefined) return void refuse(res, refusal, answerHeaders);
        observer.refused("console", undefined, refusal.reason);
        redirect(res, failurePage(word, aim), answerHeaders);
      })
      .catch((fault: unknown) => {
        if (!call.isGone) observer.fault(call.requestId, fault);
        call.destroy();
      })
      .finally(() => call.release());
  };
};
