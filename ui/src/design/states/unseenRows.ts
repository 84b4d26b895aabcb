import { type Context, createContext } from "preact";
import { nothingUnseen, type Unseen } from "../../data/access/unseen.ts";

/** The rows of the shown answer that the session may not see: without any rows, the page says so instead of "none". */
export const UnseenRows: Context<Unseen> = createContext(nothingUnseen);
