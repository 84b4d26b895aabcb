import { type Context, createContext } from "preact";
import { nothingUnseen, type Unseen } from "../../data/access/unseen.ts";

/** What the session does not see of the answer that is shown: where there are no rows, that is said instead of "none". */
export const UnseenRows: Context<Unseen> = createContext(nothingUnseen);
