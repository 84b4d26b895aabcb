const PREFIX = "LATCHKEY_";

/** What the command line goes by when it talks to a service; no settings of one. */
const ofTheCommandLine: ReadonlySet<string> = new Set(["LATCHKEY_URL", "LATCHKEY_ROOT_KEY"]);

/** What Kubernetes adds for each service of a namespace, ours included: its address and its ports. */
const serviceLink = /_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?$/;
const linkValue = /^(tcp|udp|sctp):\/\//;

/** One character more, less or other, or two neighbours in each other's place. */
const isOneEditAway = (a: string, b: string): boolean => {
  if (a === b || Math.abs(a.length - b.length) > 1) return false;
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  let same = 0;
  while (same < short.length && short[same] === long[same]) same++;
  const [shortRest, longRest] = [short.slice(same), long.slice(same)];
  if (short.length < long.length) return shortRest === longRest.slice(1);
  const isSwapped = shortRest[0] === longRest[1] && shortRest[1] === longRest[0] && shortRest.slice(2) === longRest.slice(2);
  return shortRest.slice(1) === longRest.slice(1) || isSwapped;
};

const isServiceLink = (name: string, value = ""): boolean => serviceLink.test(name) || (name.endsWith("_PORT") && linkValue.test(value));

/**
 * Variables of an environment that look like settings and are none: those with the prefix `LATCHKEY_`, and those that are
 * one edit away from a setting. One sentence each, without their values.
 */
export const suspiciousVariables = (env: Readonly<Record<string, string | undefined>>, known: readonly string[]): readonly string[] => {
  const names = new Set(known);
  return Object.keys(env)
    .filter((name) => env[name] !== undefined && !names.has(name) && !ofTheCommandLine.has(name) && !isServiceLink(name, env[name]))
    .flatMap((name) => {
      const bare = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
      const meant = known.find((candidate) => candidate === bare || isOneEditAway(candidate, bare));
      if (meant === undefined && bare === name) return [];
      return [`${name} is no setting${meant === undefined ? "" : `: did you mean ${meant}?`}`];
    })
    .sort();
};
