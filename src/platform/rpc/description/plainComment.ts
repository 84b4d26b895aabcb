/** A comment of the interface without its references to chapters of the specification. */
export const plainComment = (comment: string): string => comment.replace(/ \([a-zA-Z]+ §[^)]*\)/g, "");
