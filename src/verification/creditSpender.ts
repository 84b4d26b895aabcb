import type { KeysRepository } from "../storage/keys.ts";

/** More than this many spends of one key never wait for the same write. */
const BATCH = 1_000;

/** What became of one spend (verify §6 step 11). `balance` is what the store holds after it. */
export type Spend =
  | { readonly outcome: "spent" | "exceeded"; readonly balance: number }
  | { readonly outcome: "unlimited" }
  /** The key was deleted meanwhile. */
  | { readonly outcome: "gone" };

export interface CreditSpender {
  /**
   * Takes `cost` (0 or more) from the key's balance, or nothing. Exact over any number of nodes. Rejects with
   * `StoreUnavailableError`, after which it is unknown whether the credits were taken.
   */
  readonly spend: (keyId: string, cost: number) => Promise<Spend>;
}

interface Member {
  readonly cost: number;
  readonly resolve: (spend: Spend) => void;
  readonly reject: (error: unknown) => void;
}

/** The members, in order of arrival, that a balance of `available` can pay; those behind one that does not fit still may. */
const affordable = (members: readonly Member[], available: number): Set<Member> => {
  const fitting = new Set<Member>();
  let left = available;
  for (const member of members) {
    if (member.cost > left) continue;
    left -= member.cost;
    fitting.add(member);
  }
  return fitting;
};

const total = (members: Iterable<Member>): number => {
  let sum = 0;
  for (const { cost } of members) sum += cost;
  return sum;
};

/**
 * Concurrent spends of one key become one conditional write (DESIGN §4). Members are served in order of arrival, with
 * balances computed backwards from the one the store returned. If their sum is refused, the balance is read and those
 * that fit are sent alone: a member is denied only against a balance that the store returned after its predecessors
 * were spent.
 */
export const createCreditSpender = (keys: KeysRepository): CreditSpender => {
  const queues = new Map<string, Member[]>();

  /** Spends for all of `members`, or nothing. */
  const spendTogether = async (keyId: string, members: readonly Member[]): Promise<boolean> => {
    const sum = total(members);
    const after = await keys.spend(keyId, sum);
    if (after?.remaining === undefined) return false;
    let balance = after.remaining + sum;
    for (const member of members) {
      balance -= member.cost;
      member.resolve({ outcome: "spent", balance });
    }
    return true;
  };

  /** Serves at least the first of `members`, and returns those who have to be judged again. */
  const serve = async (keyId: string, members: readonly Member[]): Promise<readonly Member[]> => {
    if (await spendTogether(keyId, members)) return [];
    const key = await keys.find(keyId);
    if (key?.remaining === undefined) {
      for (const member of members) member.resolve(key ? { outcome: "unlimited" } : { outcome: "gone" });
      return [];
    }
    const fitting = affordable(members, key.remaining);
    if (fitting.size === 0) {
      for (const member of members) member.resolve({ outcome: "exceeded", balance: key.remaining });
      return [];
    }
    // Refused again only if someone else was faster; then everybody is judged against the new balance.
    if (!(await spendTogether(keyId, [...fitting]))) return members;
    return members.filter((member) => !fitting.has(member));
  };

  const drain = async (keyId: string, queue: Member[]): Promise<void> => {
    while (queue.length > 0) {
      const members = queue.splice(0, BATCH);
      try {
        queue.unshift(...(await serve(keyId, members)));
      } catch (error) {
        // Those who were served already do not hear of it: a settled promise stays as it is.
        for (const member of members) member.reject(error);
      }
    }
    queues.delete(keyId);
  };

  return {
    spend: (keyId, cost) => {
      const { promise, resolve, reject } = Promise.withResolvers<Spend>();
      const member: Member = { cost, resolve, reject };
      const queue = queues.get(keyId);
      if (queue) {
        queue.push(member);
      } else {
        const fresh: Member[] = [];
        queues.set(keyId, fresh);
        fresh.push(member);
        void drain(keyId, fresh);
      }
      return promise;
    },
  };
};
