// The service applies the same rule when it redirects a person who returns from the identity provider.
export { pageAddress } from "../../../../src/features/console/pageAddress.ts";
