import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that wait for processes, for stores that are away or for a second engine, or compute for long: each takes tens of seconds. */
const campaigns =
  /\/test\/(failure|visibility|properties|analytics|sweep)\/|\/(auditMover|backupOfService|bodies|codec\/large|errors|eraseFiles|everyRead|examples|ifMatch|ifMatch\.races|lastUsed|manage|migrate|migrateOnUse\.store|mongoAway|nodeReporter|patiently|realRun|restoreBackup|serve|service|story|tail|testClock|tracing|workers)(\.process)?\.test/;

/** Begins with the files that take longest, so that no worker waits alone for one of them at the end. */
export class CampaignsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isCampaign = ({ moduleId }: TestSpecification): boolean => campaigns.test(moduleId);
    return [...sorted.filter(isCampaign), ...sorted.filter((file) => !isCampaign(file))];
  }
}
