const references: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Text as it is written in HTML, between tags and in quoted attributes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => references[character] ?? character);

/** The same for text of Markdown, which may hold character references of its own, such as `&nbsp;`. */
export const escapeMarkdownText = (text: string): string =>
  text.replace(/&(?!(?:#\d{1,7}|#[Xx][\da-fA-F]{1,6}|\w{1,32});)|[<>"']/g, (character) => references[character] ?? character);
