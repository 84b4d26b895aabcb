/** The address of a page or file by its path below `/docs`. */
export const addressOf = (path: string): string => (path === "" ? "/docs" : `/docs/${path}`);
