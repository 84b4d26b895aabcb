/** Where a storage engine tells of what no caller hears about. A pino logger is one. */
export interface StoreLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}
