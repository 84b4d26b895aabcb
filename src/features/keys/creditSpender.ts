import type { Behalf } from "../../platform/base/behalf.ts";
import type { KeysRepository } from "./keysRepository.ts";
import { bringInRefills } from "./refill.ts";
import { refillCredits } from "./refillCredits.ts";

/** More than this many spends of one key never share a write. */
const MOST_IN_GROUP = 1_000;

/** What became of one spend (verify §6 step 11). `balance` is what the store holds after it, `refilledAt` its mark. */
export type Spend =
  | { readonly outcome: "spent" | "exceeded"; readonly balance: number; readonly refilledAt: number | undefined }
  | { readonly outcome: "unlimited" }
  /** The key was deleted meanwhile. */
  | { readonly outcome: "gone" };

export interface CreditSpender {
  /**
   * Takes `cost` (0 or more) from the key's balance, or nothing. Exact over any number of nodes. Rejects with
   * `StoreUnavailableError`, after which it is unknown whether the credits were taken.
   */
  readonly spend: (keyId: string, cost: number, time?: SpendTime, behalf?: Behalf) => Promise<Spend>;
  /** Runs `task` while no spend of the key is under way on this node, so that a change of the balance seldom has to be repeated. */
  readonly runExclusive: <T>(keyId: string, task: () => Promise<T>) => Promise<T>;
}

/** When a spend counts: no call is denied while a refill is due that would pay for it. */
export interface SpendTime {
  readonly now: number;
  /** A refill is due as far as the caller knows; then it is brought in before the spend. */
  readonly refillDue: boolean;
}

interface PendingSpend {
  readonly cost: number;
  readonly time: SpendTime | undefined;
  readonly behalf: Behalf;
  readonly resolve: (spend: Spend) => void;
  readonly reject: (error: unknown) => void;
}

/** Something else that has the key for itself when its turn comes. */
interface ExclusiveTask {
  readonly run: () => Promise<void>;
}

type QueueItem = PendingSpend | ExclusiveTask;

/** The members, in order of arrival, that a balance of `available` can pay; those behind one that does not fit still may. */
const affordable = (members: readonly PendingSpend[], available: number): Set<PendingSpend> => {
  const fitting = new Set<PendingSpend>();
  let left = available;
  for (const member of members) {
    if (member.cost > left) continue;
    left -= member.cost;
    fitting.add(member);
  }
  return fitting;
};

/** The latest time of any of them. */
const latest = (members: readonly PendingSpend[]): number => members.reduce((now, { time }) => Math.max(now, time?.now ?? 0), 0);

const total = (members: Iterable<PendingSpend>): number => {
  let sum = 0;
  for (const { cost } of members) sum += cost;
  return sum;
};

/**
 * Group commit: concurrent spends of one key become one conditional write (DESIGN §4). Members are served in order of arrival, with
 * balances computed backwards from the one the store returned. If their sum is refused, the balance is read and those
 * that fit are sent alone: a member is denied only against a balance that the store returned after its predecessors
 * were spent. Refills that are due are brought in before them.
 */
export const createCreditSpender = (keys: KeysRepository): CreditSpender => {
  const queues = new Map<string, QueueItem[]>();

  /** Spends for all of `members`, or nothing. */
  const spendAsGroup = async (keyId: string, members: readonly PendingSpend[], behalf: Behalf): Promise<boolean> => {
    const sum = total(members);
    const after = await keys.spend(keyId, sum, behalf);
    if (after?.remaining === undefined) return false;
    let balance = after.remaining + sum;
    for (const member of members) {
      balance -= member.cost;
      member.resolve({ outcome: "spent", balance, refilledAt: after.refilledAt });
    }
    return true;
  };

  /** Serves some of `members` unless something changed under them, and returns those who have to be judged again. */
  const serve = async (keyId: string, members: readonly PendingSpend[], behalf: Behalf): Promise<readonly PendingSpend[]> => {
    if (await spendAsGroup(keyId, members, behalf)) return [];
    const key = await keys.find(keyId, behalf);
    if (key?.remaining === undefined) {
      for (const member of members) member.resolve(key ? { outcome: "unlimited" } : { outcome: "gone" });
      return [];
    }
    // Nobody may have known that a refill is due: a cached key can be older than its schedule.
    if (bringInRefills(key, latest(members)) !== undefined) {
      await refillCredits(keys, keyId, latest(members), behalf);
      return members;
    }
    const fitting = affordable(members, key.remaining);
    if (fitting.size === 0) {
      for (const member of members) member.resolve({ outcome: "exceeded", balance: key.remaining, refilledAt: key.refilledAt });
      return [];
    }
    // Refused again only if someone else was faster; then everybody is judged against the new balance.
    if (!(await spendAsGroup(keyId, [...fitting], behalf))) return members;
    return members.filter((member) => !fitting.has(member));
  };

  /** Takes the members at the head of the queue that can be served together. */
  const takeGroup = (queue: QueueItem[]): PendingSpend[] => {
    const end = queue.findIndex((waiting) => "run" in waiting);
    return queue.splice(0, Math.min(end === -1 ? queue.length : end, MOST_IN_GROUP)) as PendingSpend[];
  };

  const serveGroup = async (keyId: string, queue: QueueItem[]): Promise<void> => {
    const members = takeGroup(queue);
    const behalf = members[0]?.behalf ?? {};
    try {
      if (members.some(({ time }) => time?.refillDue)) await refillCredits(keys, keyId, latest(members), behalf);
      queue.unshift(...(await serve(keyId, members, behalf)));
    } catch (error) {
      // Those who were served already do not hear of it: a settled promise stays as it is.
      for (const member of members) member.reject(error);
    }
  };

  const drain = async (keyId: string, queue: QueueItem[]): Promise<void> => {
    for (let first = queue[0]; first !== undefined; first = queue[0]) {
      if ("run" in first) {
        queue.shift();
        await first.run();
      } else {
        await serveGroup(keyId, queue);
      }
    }
    queues.delete(keyId);
  };

  const enqueue = (keyId: string, waiting: QueueItem): void => {
    const queue = queues.get(keyId);
    if (queue) {
      queue.push(waiting);
    } else {
      const fresh = [waiting];
      queues.set(keyId, fresh);
      void drain(keyId, fresh);
    }
  };

  return {
    spend: (keyId, cost, time, behalf) => {
      const { promise, resolve, reject } = Promise.withResolvers<Spend>();
      enqueue(keyId, { cost, time, behalf: { caller: behalf?.caller }, resolve, reject });
      return promise;
    },
    runExclusive: <T>(keyId: string, task: () => Promise<T>) => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      enqueue(keyId, { run: () => task().then(resolve, reject) });
      return promise;
    },
  };
};
