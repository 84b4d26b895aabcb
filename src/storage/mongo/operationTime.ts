/** What the server gives one operation, in milliseconds. */
export const OPERATION_TIME = 2500;
