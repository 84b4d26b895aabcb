import { setQueryParams } from "./address.ts";

/** A range that was brushed in a chart becomes the page's. @param start Unix ms, as `end` */
export const setBrushedRange = (start: number, end: number): void =>
  setQueryParams({ start: String(Math.floor(start)), end: String(Math.ceil(end)), range: undefined }, { replace: false });
