import type { StoreSnapshot } from "../../platform/storage/embedded/openSnapshot.ts";
import { toText } from "../../platform/storage/embedded/sqlite/documentText.ts";
import type { Fields } from "../../platform/storage/port/applyUpdate.ts";
import { type BackedUpCollection, backedUp } from "./backedUp.ts";
import { backedUpForm, isWhole } from "./backedUpForm.ts";
import { type BackupSource, factsOf, inBatches } from "./backupSource.ts";

/** The embedded store as a snapshot shows it. Throws what `factsOf` does. @param now Unix ms */
export const embeddedSource = (snapshot: StoreSnapshot, now: number): BackupSource => {
  const textsOf = function* (collection: BackedUpCollection): Generator<string, void> {
    const texts = snapshot.texts(collection);
    if (isWhole(collection)) return yield* texts;
    for (const text of texts) {
      const form = backedUpForm(collection, JSON.parse(text) as Fields, now);
      if (form !== undefined) yield toText(form);
    }
  };
  return {
    facts: factsOf("embedded", snapshot.schema, snapshot.file),
    size: backedUp.reduce((sum, collection) => sum + snapshot.count(collection), 0),
    read: function* () {
      for (const collection of backedUp) yield* inBatches(collection, textsOf(collection));
    },
  };
};
