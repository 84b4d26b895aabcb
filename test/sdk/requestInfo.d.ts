/** What `fetch` accepts: the client's declarations take it for a global, @types/node does not have it. */
type RequestInfo = Parameters<typeof fetch>[0];
