/** The parts of a path that match `:name` in its pattern, decoded. */
export type PathParams = Readonly<Record<string, string>>;

const decoded = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
};

/** Matches `/ui/apis/:id` against a path. @returns undefined when it does not match, or is not properly encoded */
export const matchPath = (pattern: string, path: string): PathParams | undefined => {
  const wanted = pattern.split("/");
  const given = path.replace(/(?<=.)\/$/, "").split("/");
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? "";
    if (!part.startsWith(":")) {
      if (part !== text) return undefined;
      continue;
    }
    const value = decoded(text);
    if (value === undefined || value === "") return undefined;
    params[part.slice(1)] = value;
  }
  return params;
};
