/**
 * For whom a store is opened; all but MongoDB's refusals is about the embedded one. `server`: the only one of its directory, keeps the
 * counters in memory and removes what has expired. `tool`: may open it beside a server. `restore`: the only one of its directory, too,
 * and opens what a restore did not finish, which the others refuse.
 */
export type StoreMode = "server" | "tool" | "restore";

/** With `look`, which only MongoDB's has: changes nothing, makes no index, and leaves it to who looks whether the store can be used. */
export type MongoStoreMode = StoreMode | "look";
