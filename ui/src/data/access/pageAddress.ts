// The service applies the same rule when it redirects a person who returns from the identity provider.
export { pageAddress } from "../../../../src/domain/console/pageAddress.ts";
