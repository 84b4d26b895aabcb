/** A name that a certificate is for, of the kinds that clients are told apart by. */
export interface SubjectName {
  readonly kind: "DNS" | "URI" | "email";
  /** As names of its kind are compared: DNS names, and the domain of an address, in lower case. */
  readonly value: string;
}

const domain = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

const comparable = (kind: SubjectName["kind"], value: string): string => {
  if (kind === "DNS") return value.toLowerCase();
  if (kind === "URI") return value;
  const at = value.lastIndexOf("@") + 1;
  return value.slice(0, at) + value.slice(at).toLowerCase();
};

const isWellFormed = ({ kind, value }: SubjectName): boolean => {
  if (kind === "DNS") return domain.test(value.replace(/^\*\./, ""));
  if (kind === "URI") return /^[a-z][a-z0-9+.-]*:[^\s,*"]+$/i.test(value);
  const at = value.lastIndexOf("@");
  return /^[^\s,*"@]+$/.test(value.slice(0, Math.max(0, at))) && domain.test(value.slice(at + 1));
};

/**
 * A name as it is written in a setting: `DNS:`, `URI:` or `email:` and the name. Only a DNS name may begin with `*.`, which
 * stands for exactly one label. Undefined for anything else.
 */
export const parseSubjectName = (text: string): SubjectName | undefined => {
  const [, kind, value = ""] = /^(DNS|URI|email):(.+)$/.exec(text) ?? [];
  if (kind !== "DNS" && kind !== "URI" && kind !== "email") return undefined;
  const name = { kind, value: comparable(kind, value) } as const;
  return isWellFormed(name) ? name : undefined;
};

/** One name and what ends it. Node writes a name in which a comma or a quote stands as a JSON string. */
const oneName = /([^:,"]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y;

/**
 * The names in a certificate's `subjectAltName`, as Node writes it, of the kinds that count. None at all where a part of the
 * text is not understood, so that nobody passes by what stands beside it.
 */
export const subjectNamesOf = (subjectAltName: string | undefined): readonly SubjectName[] => {
  if (subjectAltName === undefined) return [];
  const names: SubjectName[] = [];
  for (let at = 0; at < subjectAltName.length; at = oneName.lastIndex) {
    oneName.lastIndex = at;
    const [, kind = "", written = ""] = oneName.exec(subjectAltName) ?? [];
    if (kind === "") return [];
    if (kind !== "DNS" && kind !== "URI" && kind !== "email") continue;
    try {
      const value: unknown = written.startsWith('"') ? JSON.parse(written) : written;
      names.push({ kind, value: comparable(kind, String(value)) });
    } catch {
      return [];
    }
  }
  return names;
};

/** Whether a certificate's name is the one that is allowed. A wildcard counts in what is allowed, never in the certificate. */
const matches = (allowed: SubjectName, { kind, value }: SubjectName): boolean => {
  if (allowed.kind !== kind) return false;
  if (kind !== "DNS" || !allowed.value.startsWith("*.")) return allowed.value === value;
  const dot = value.indexOf(".");
  return dot > 0 && value.slice(dot) === allowed.value.slice(1) && !value.startsWith("*");
};

export const isAnyAllowed = (allowed: readonly SubjectName[], names: readonly SubjectName[]): boolean =>
  names.some((name) => allowed.some((each) => matches(each, name)));
