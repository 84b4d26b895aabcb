/** What is no page: nobody is to be sent there, and signing in would lead back to itself. */
const noPage = /^\/ui\/(sign-in|oidc|rpc|a)(\/|$)/;

/**
 * Where to go after signing in: path and query of a page of this console, whatever was asked for. `/ui` in the place of everything
 * else, most of all of other hosts.
 */
export const pageAddress = (wanted: string | null | undefined): string => {
  if (!wanted || !/^\/ui(?:[/?]|$)/.test(wanted) || !URL.canParse(wanted, "http://console")) return "/ui";
  const { pathname, search, origin } = new URL(wanted, "http://console");
  return origin === "http://console" && /^\/ui(\/|$)/.test(pathname) && !noPage.test(pathname) ? pathname + search : "/ui";
};
