import type { DescMethod, DescService } from "@bufbuild/protobuf";

const lowerFirst = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

/** `KeysService` → `keys`, `RootKeysService` → `rootKeys` (DESIGN §1). */
const namespaceName = (service: DescService): string => lowerFirst(service.name.replace(/Service$/, ""));

/** `KeysService.CreateKey` → `keys.createKey`. */
export const procedureName = (method: DescMethod): string => `${namespaceName(method.parent)}.${lowerFirst(method.name)}`;
