/** What `new Headers()` accepts: @connectrpc/connect's declarations take it for a global, @types/node does not have it. */
type HeadersInit = ConstructorParameters<typeof Headers>[0];
