export { pageAddress as afterSignIn } from "../data/access/pageAddress.ts";

const signInPath = "/ui/sign-in";

/** The address of the sign-in page that leads on to the page the person wanted. @param wanted path and query below /ui */
export const signInAddress = (wanted: string): string =>
  wanted === "/ui" || wanted.startsWith(signInPath) ? signInPath : `${signInPath}?next=${encodeURIComponent(wanted)}`;
