/** One limit to check: `limit` tokens per `duration` ms on the counter `key`, of which this call wants `cost`. */
export interface Check {
  readonly key: string;
  readonly limit: number;
  readonly duration: number;
  readonly cost: number;
}
