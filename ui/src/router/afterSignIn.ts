export { pageAddress as afterSignIn } from "../data/access/pageAddress.ts";

const signInPath = "/ui/sign-in";

/** The sign-in page, which afterwards goes on to where the person wanted to go. @param wanted path and query below /ui */
export const signInAddress = (wanted: string): string =>
  wanted === "/ui" || wanted.startsWith(signInPath) ? signInPath : `${signInPath}?next=${encodeURIComponent(wanted)}`;
