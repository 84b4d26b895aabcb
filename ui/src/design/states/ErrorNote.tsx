import type { ComponentChildren, JSX } from "preact";
import type { CallError } from "../../data/calls/callError.ts";

export interface ErrorNoteProps {
  readonly error: CallError;
  /** Instead of the service's message, where the page says it elsewhere. */
  readonly message?: string | undefined;
  /** More about it, or what to do. */
  readonly children?: ComponentChildren;
}

/** A failure: what happened, what to do, the page that explains it, and the request's id to find it in the log. */
export const ErrorNote = ({ error, message = error.message, children }: ErrorNoteProps): JSX.Element => (
  <div class="note error" role="alert">
    <p>
      <strong>{error.title}.</strong> {message}
    </p>
    {children}
    {error.requestId !== "" && (
      <p class="quiet">
        Request <code>{error.requestId}</code>
        {error.type !== "" && (
          <>
            {" · "}
            <a href={error.type} target="_blank" rel="noreferrer">
              About this error
            </a>
          </>
        )}
      </p>
    )}
  </div>
);
