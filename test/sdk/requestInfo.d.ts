/** The argument of `fetch`: the client's declarations expect it as a global, which @types/node lacks. */
type RequestInfo = Parameters<typeof fetch>[0];
