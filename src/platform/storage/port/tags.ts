/** Cache tag of a namespace that is looked up by name. */
export const namespaceTag = (name: string): string => `namespace:${name}`;

/** Cache tag that changes with every override of a namespace. */
export const overridesTag = (namespaceId: string): string => `overrides:${namespaceId}`;
