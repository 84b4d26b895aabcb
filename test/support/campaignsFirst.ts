import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that wait for real processes, stores that are away, or a second engine: each takes tens of seconds. */
const campaigns = /\/test\/(failure|visibility|properties|analytics|sweep)\/|\/(realRun|storeAway|migrateStore)\.|[pP]rocess\.test/;

/** Begins with the files that take longest, so that no worker waits alone for one of them at the end. */
export class CampaignsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isCampaign = ({ moduleId }: TestSpecification): boolean => campaigns.test(moduleId);
    return [...sorted.filter(isCampaign), ...sorted.filter((file) => !isCampaign(file))];
  }
}
