import { systemSource } from "../../src/audit/auditEvent.ts";
import { type ApiUpdate, changeApi } from "../../src/procedures/shared/apis/changeApi.ts";
import type { Store } from "../../src/storage/port/store.ts";
import { createApisRepository } from "../../src/storage/repositories/apisRepository.ts";

/** Changes an API in its store, as the command line does, without notifying any node. False: the API does not exist. */
export const changeApiIn = async (store: Store, apiId: string, update: ApiUpdate): Promise<boolean> =>
  (await createApisRepository(store).modify(apiId, changeApi(update, systemSource(store.clock)))) !== null;
