import { ConsoleService } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import { type ClientAddress, networkOf } from "../../../platform/http/clientAddress.ts";
import { headerText } from "../../../platform/http/headerFields.ts";
import type { Transport } from "../../../platform/http/transport.ts";
import { HttpCall } from "../../../platform/rpc/edges/httpCall.ts";
import type { Visit } from "../../../platform/rpc/visit.ts";
import { giveCookie, readCookie, sessionCookieOf, takeCookie } from "./cookies.ts";
import { callKindOf } from "./requestChecks.ts";

/** A call of the console: what it came with is known before its caller. */
export class ConsoleCall extends HttpCall {
  readonly visit: Visit;

  /** @param headers of the answer, whatever it will be. */
  constructor(
    call: Readonly<ConstructorParameters<typeof HttpCall>>,
    transport: Transport,
    headers: Readonly<Record<string, string>>,
    clientAddress: ClientAddress,
  ) {
    super(...call);
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    const cookie = sessionCookieOf(transport);
    const kind = callKindOf(this.req);
    const address = clientAddress(this);
    this.visit = {
      token: cookie && readCookie(headerText(this.requestHeaders.cookie), cookie.name),
      isPrivate: cookie !== undefined,
      isBackground: kind === "background" || this.method === ConsoleService.method.getSession,
      isExport: kind === "export",
      address,
      network: networkOf(address),
      live: undefined,
      giveCookie: (token) => {
        if (cookie) this.setHeader("set-cookie", giveCookie(cookie, token));
      },
      takeCookie: () => {
        this.setHeader("clear-site-data", '"cache"');
        if (cookie) this.setHeader("set-cookie", takeCookie(cookie));
      },
      setHeader: (name, value) => this.setHeader(name, value),
    };
  }
}
