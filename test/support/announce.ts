/** Says once per run which storage engines it covers: a newcomer needs no MongoDB, a release does. */
export default (): void => {
  console.info(
    process.env.MONGODB_URL === undefined
      ? "Storage: the embedded engine. To run the suite on MongoDB too, set MONGODB_URL."
      : process.env.LATCHKEY_TEST_ENGINE === "mongo"
        ? "Storage: the MongoDB server of MONGODB_URL alone."
        : "Storage: the embedded engine and the MongoDB server of MONGODB_URL.",
  );
};
