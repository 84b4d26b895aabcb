/**
 * The page of an identity: by its externalId, which people know. By its id where the externalId is no path (`.` and `..` are taken
 * back by browsers) or could be the id of another one, which would win (identities chapter).
 */
export const identityPath = ({ id, externalId }: { readonly id: string; readonly externalId: string }): string =>
  `/ui/identities/${encodeURIComponent(/^\.{1,2}$|^id_/.test(externalId) ? id : externalId)}`;
