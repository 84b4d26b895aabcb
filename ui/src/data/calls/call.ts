import { create, type DescMessage, type DescMethodUnary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { type Signal, signal } from "@preact/signals";
import { ConsoleService } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import { noteIdentityProvider } from "../access/identityProvider.ts";
import { elevate, session } from "../access/sessionState.ts";
import { CallError, readCallError } from "./callError.ts";
import { logCall } from "./callLog.ts";
import { changesSomething } from "./methodOptions.ts";

const transport = createConnectTransport({ baseUrl: "/ui/rpc", useBinaryFormat: true });

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** One for each form (protocol §2). */
  readonly idempotencyKey?: string;
  /** The ETag of what was shown; another revision is refused as `changed` (management §2). */
  readonly ifMatch?: string | undefined;
  /** A poll: it does not keep the session alive (console §2.3). */
  readonly background?: boolean;
  /** One call of many: the caller reports `changesMade` once, after the last one. */
  readonly quiet?: boolean;
  /** The answer is saved as a file, which needs the root key again (console §2.4). */
  readonly export?: boolean;
}

export interface Answer<Message> {
  readonly message: Message;
  /** Revision of the object in the answer, where the procedure has one. */
  readonly etag: string | undefined;
}

/** Counts successful changes: what is shown reads itself again when it moves. */
export const changesMade: Signal<number> = signal(0);

/** A wrong root key is 401 as well there, and ends no session. */
const checksRootKey: ReadonlySet<DescMethodUnary> = new Set([ConsoleService.method.signIn, ConsoleService.method.elevate]);

const kindOf = ({ background, export: isExport }: CallOptions): string => {
  if (isExport === true) return "export";
  return background === true ? "background" : "1";
};

const headersOf = (options: CallOptions): Headers => {
  const { idempotencyKey, ifMatch } = options;
  const headers = new Headers({ "x-latchkey-ui": kindOf(options) });
  if (idempotencyKey !== undefined) headers.set("idempotency-key", idempotencyKey);
  if (ifMatch !== undefined) headers.set("if-match", ifMatch);
  return headers;
};

/**
 * Calls a procedure of any service with the session's cookie (console §1). A call that needs the root key again, or a person to sign in
 * again, asks for that and is then repeated, with the same Idempotency-Key.
 * @throws {CallError} for every failure
 */
export const call = async <Input extends DescMessage, Output extends DescMessage>(
  method: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input>,
  options: CallOptions = {},
): Promise<Answer<MessageShape<Output>>> => {
  const message = create(method.input, request);
  const changing = changesSomething(method);
  const log = (succeeded: boolean): void => {
    if (changing) logCall({ method, request: message, at: Date.now(), succeeded });
  };
  for (;;) {
    try {
      const answer = await transport.unary(method, options.signal, undefined, headersOf(options), message);
      noteIdentityProvider(answer.header);
      log(true);
      if (changing && options.quiet !== true) changesMade.value += 1;
      return { message: answer.message, etag: answer.header.get("etag") ?? undefined };
    } catch (thrown) {
      options.signal?.throwIfAborted();
      if (thrown instanceof ConnectError) noteIdentityProvider(thrown.metadata);
      const error = readCallError(thrown);
      if (error.kind === "signedOut" && !checksRootKey.has(method)) session.value = "signedOut";
      if (error.kind === "elevation" && options.background !== true) {
        if (await elevate()) continue;
        throw new CallError("elevation", "Nothing was done: you did not confirm your identity.", error);
      }
      log(false);
      throw error;
    }
  }
};
