const signInPath = "/ui/sign-in";

/** The sign-in page, which afterwards goes on to where the person wanted to go. @param wanted path and query below /ui */
export const signInAddress = (wanted: string): string =>
  wanted === "/ui" || wanted.startsWith(signInPath) ? signInPath : `${signInPath}?next=${encodeURIComponent(wanted)}`;

/** Where to go after signing in: below /ui of this origin only, whatever the address says. */
export const afterSignIn = (next: string | null): string => {
  if (next === null || !/^\/ui(?:[/?]|$)/.test(next)) return "/ui";
  const { pathname, search, origin } = new URL(next, "http://console");
  return origin === "http://console" && /^\/ui(\/|$)/.test(pathname) && !pathname.startsWith(signInPath) ? pathname + search : "/ui";
};
