import { createApisRepository } from "../../src/features/apis/apisRepository.ts";
import { type ApiUpdate, changeApi } from "../../src/features/apis/changeApi.ts";
import { systemSource } from "../../src/features/audit/auditEvent.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";

/** Changes an API in its store, as the command line does, without notifying any node. False: the API does not exist. */
export const changeApiIn = async (store: Store, apiId: string, update: ApiUpdate): Promise<boolean> =>
  (await createApisRepository(store).modify(apiId, changeApi(update, systemSource(store.clock)))) !== null;
