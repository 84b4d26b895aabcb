import { MigrationAlgorithm } from "../../../gen/latchkey/v2/migrations_pb.ts";
import type { MigrationDocument } from "../../platform/storage/port/documents.ts";

type Algorithm = MigrationDocument["algorithm"];

const shown: Readonly<Record<Algorithm, MigrationAlgorithm>> = {
  sha256: MigrationAlgorithm.SHA256,
  "github.com/seamapi/prefixed-api-key": MigrationAlgorithm.PREFIXED_API_KEY,
};

/** Every algorithm that there is, by the name that requests and the command line use. */
export const algorithms = Object.keys(shown) as readonly Algorithm[];

/** As it is stored; `read` is one of the enum's values, the edges have seen to that. */
export const readAlgorithm = (read: MigrationAlgorithm): Algorithm => {
  const found = algorithms.find((each) => shown[each] === read);
  if (found === undefined) throw new TypeError(`no algorithm ${read}`);
  return found;
};

export const showAlgorithm = (algorithm: Algorithm): MigrationAlgorithm => shown[algorithm];
