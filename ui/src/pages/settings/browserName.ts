/** Browsers by what only they say of themselves, those that pretend to be others first. */
const browsers: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\b(?:OPR|Opera)\//, "Opera"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];

const systems: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\b(?:iPhone|iPad)\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];

const found = (text: string, names: readonly (readonly [RegExp, string])[]): string | undefined =>
  names.find(([sign]) => sign.test(text))?.[1];

/** A `User-Agent` in words: "Firefox on Linux". */
export const browserName = (userAgent: string | undefined): string => {
  if (userAgent === undefined || userAgent === "") return "An unknown browser";
  const browser = found(userAgent, browsers) ?? "Another browser";
  const system = found(userAgent, systems);
  return system === undefined ? browser : `${browser} on ${system}`;
};
