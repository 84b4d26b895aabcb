/** Whether a client that sends this `If-None-Match` has what the entity tag stands for, by the weak comparison (RFC 9110 §13.1.2). */
export const isKnownTag = (etag: string, ifNoneMatch: string | undefined): boolean => {
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, "");
  return (ifNoneMatch ?? "").split(",").some((tag) => tag.trim() === "*" || opaque(tag) === opaque(etag));
};
