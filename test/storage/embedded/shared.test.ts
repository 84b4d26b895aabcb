import { createSharedEngine } from "../../support/sharedStores.ts";
import { testStore } from "../contract.ts";

testStore(createSharedEngine());
