// The service goes by the same rule when it sends somebody on who comes from the identity provider.
export { pageAddress } from "../../../../src/features/console/pageAddress.ts";
