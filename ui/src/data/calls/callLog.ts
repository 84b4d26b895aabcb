import type { DescMethodUnary, Message } from "@bufbuild/protobuf";
import { type Signal, signal } from "@preact/signals";
import { forgetAfterSession } from "../access/sessionState.ts";

/** A call that this page made. */
export interface LoggedCall {
  readonly method: DescMethodUnary;
  readonly request: Message;
  /** Unix ms. */
  readonly at: number;
  readonly succeeded: boolean;
}

/** How many calls are kept: what a person does in a session; the oldest go first. */
const kept = 500;

/** Calls that changed something, or that the person made by hand, oldest first. In memory only. */
export const callLog: Signal<readonly LoggedCall[]> = signal<readonly LoggedCall[]>([]);

/** Adds a call. */
export const logCall = (call: LoggedCall): void => {
  callLog.value = [...callLog.value, call].slice(-kept);
};

forgetAfterSession(() => {
  callLog.value = [];
});
