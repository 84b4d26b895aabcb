/**
 * The engines of a suite: the embedded one, and with `MONGODB_URL` that server. `LATCHKEY_TEST_ENGINE=mongo` leaves the
 * embedded engine out, for a second run in addition to one on the embedded engine.
 *
 * @param mongo makes the engine on the server of this URL.
 */
export const onEveryEngine = <T>(embedded: T, mongo: (server: string) => T): readonly T[] => {
  const { MONGODB_URL: server, LATCHKEY_TEST_ENGINE: only } = process.env;
  if (!server) return [embedded];
  return only === "mongo" ? [mongo(server)] : [embedded, mongo(server)];
};
