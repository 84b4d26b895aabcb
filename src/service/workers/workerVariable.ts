/** Says to a process that it is a worker, and which, from 1. Set by the primary; no setting. */
export const WORKER_VARIABLE = "LATCHKEY_WORKER";
