import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createId, timePart } from "../../src/platform/base/ids.ts";
import { type AnnouncementFeed, createAnnouncementFeed } from "../../src/platform/cache/announcementFeed.ts";
import { type Contact, createContact } from "../../src/platform/cache/contact.ts";
import { createInvalidations, type Invalidations } from "../../src/platform/cache/invalidations.ts";
import { type ChangesRepository, createChangesRepository } from "../../src/platform/storage/repositories/changesRepository.ts";
import { type FaultyStore, faultyStore } from "../support/faultyStore.ts";
import { engines } from "../support/stores.ts";

interface Node {
  readonly feed: AnnouncementFeed;
  readonly invalidations: Invalidations;
  readonly contact: Contact;
  readonly errors: unknown[];
}

type Listener = (ids: readonly string[]) => void;

describe.each(engines)("on $name", (engine) => {
  let store: FaultyStore;
  let changes: ChangesRepository;
  /** Milliseconds that all clocks are ahead of the real one. */
  let ahead = 0;
  const clock = { now: () => systemClock.now() + ahead, monotonic: () => systemClock.monotonic() + ahead };
  const nodes: Node[] = [];

  beforeEach(async () => {
    ahead = 0;
    store = faultyStore(await engine.open());
    changes = createChangesRepository(store);
  });
  afterEach(async () => {
    store.behave("well");
    await Promise.all(nodes.splice(0).map(({ feed }) => feed.stop()));
    await engine.close();
  });

  const startNode = (): Node => {
    const invalidations = createInvalidations(clock);
    const errors: unknown[] = [];
    const contact = createContact(0);
    const feed = createAnnouncementFeed({ clock, invalidations, changes, contact, durable: true, onError: (error) => errors.push(error) });
    feed.start();
    const node = { feed, invalidations, contact, errors };
    nodes.push(node);
    return node;
  };
  const hears = ({ invalidations }: Node, id: string, since = 0): Promise<void> =>
    vi.waitFor(() => expect(invalidations.changedSince([id], since)).toBe(true), { timeout: 10_000, interval: 20 });

  test("siblings hear at once of what was written, and what they tell is void here, without the store", async () => {
    const told: (readonly string[])[] = [];
    const hear: Listener[] = [];
    const siblings = {
      tell: (ids: readonly string[]) => void told.push(ids),
      onTold: (listener: Listener) => void hear.push(listener),
    };
    const invalidations = createInvalidations(clock);
    store.behave("fails");
    const feed = createAnnouncementFeed({ clock, invalidations, changes, durable: true, siblings });
    feed.forget(["key_1"]);
    expect(told).toEqual([["key_1"]]);
    hear[0]?.(["key_2"]);
    expect(["key_1", "key_2"].map((id) => invalidations.changedSince([id], 0))).toEqual([true, true]);
    // Ids from a sibling are not announced again.
    expect(told).toHaveLength(1);
    await feed.stop();
  });

  test("stopping waits for everything that is on its way to the other nodes", async () => {
    const asked: (readonly string[])[] = [];
    const written: string[] = [];
    const gate = Promise.withResolvers<void>();
    const slow: ChangesRepository = {
      ...changes,
      append: async (_id, _node, ids) => {
        asked.push(ids);
        // The first takes longest.
        if (asked.length === 1) await gate.promise;
        written.push(...ids);
      },
    };
    const feed = createAnnouncementFeed({ clock, invalidations: createInvalidations(clock), changes: slow, durable: true });
    feed.doubt(["key_1"]);
    await expect.poll(() => asked.length).toBe(1);
    feed.doubt(["key_2"]);
    // Longer than it takes to begin a second one.
    await new Promise((resolve) => setTimeout(resolve, 100));
    let stopped = false;
    const stopping = feed.stop().then(() => {
      stopped = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(stopped).toBe(false);
    gate.resolve();
    await stopping;
    expect(written).toEqual(["key_1", "key_2"]);
  });

  test("a change is heard of by the others once it is announced; on its own node it is void when that says so", async () => {
    const [a, b] = [startNode(), startNode()];
    const announced = a.feed.announce(["key_1", "hash:x"]);
    expect(a.invalidations.changedSince(["key_1"], 0)).toBe(false);
    await hears(b, "key_1");
    await hears(b, "hash:x");
    await announced;
    // Nothing is written yet, and perhaps never: what this node remembers is true.
    expect(a.invalidations.changedSince(["key_1"], 0)).toBe(false);
    a.feed.forget(["key_1"]);
    expect(a.invalidations.changedSince(["key_1"], 0)).toBe(true);
  });

  test("a change that is read again with the overlap is not heard of twice", async () => {
    const [a, b] = [startNode(), startNode()];
    await a.feed.announce(["key_1"]);
    await hears(b, "key_1");
    const sequence = b.invalidations.sequence();
    await a.feed.announce(["key_2"]);
    await hears(b, "key_2");
    expect(b.invalidations.sequence()).toBe(sequence + 1);
    expect(a.invalidations.sequence()).toBe(0);
  });

  test("an entry that was written late is heard of all the same", async () => {
    const node = startNode();
    await changes.append(createId("ch", clock.now()), "node_other", ["key_1"], clock.now());
    await hears(node, "key_1");
    await changes.append(createId("ch", clock.now() - 3_000), "node_other", ["key_late"], clock.now());
    await hears(node, "key_late");
  });

  test("changes made while the node was cut off from the store are applied when the store is back", async () => {
    const node = startNode();
    store.behave("fails");
    await vi.waitFor(() => expect(node.errors.length).toBeGreaterThan(0), { timeout: 10_000 });
    store.behave("well");
    const duringOutage = clock.now();
    // The outage lasted longer than a poll looks back.
    await changes.append(createId("ch", duringOutage), "node_other", ["key_1"], duringOutage);
    ahead += 25_000;
    await hears(node, "key_1");
  });

  test("after a silence of more than 30 s everything is void, and what changed in its last 35 s is all that is asked for", async () => {
    const asked: string[] = [];
    const counted: ChangesRepository = {
      ...changes,
      listAfter: async (since) => {
        asked.push(since);
        return [];
      },
    };
    const invalidations = createInvalidations(clock);
    const feed = createAnnouncementFeed({ clock, invalidations, changes: counted, durable: true });
    feed.start();
    const before = invalidations.sequence();
    for (const [silence, isVoid] of [
      [29_000, false],
      [3_600_000, true],
    ] as const) {
      await expect.poll(() => asked.length).toBeGreaterThan(0);
      asked.length = 0;
      ahead += silence;
      const since = `ch_${timePart(clock.now() - 35_000)}`;
      await expect.poll(() => asked.length).toBeGreaterThan(1);
      expect(asked.filter((each) => each < since)).toEqual([]);
      expect(invalidations.changedSince(["any"], before)).toBe(isVoid);
    }
    await feed.stop();
  });

  test("a failed announcement is published when the store is back", async () => {
    const [a, b] = [startNode(), startNode()];
    store.behave("fails");
    a.feed.doubt(["key_1"]);
    expect(a.invalidations.changedSince(["key_1"], 0)).toBe(true);
    await vi.waitFor(() => expect(a.errors.length).toBeGreaterThan(0), { timeout: 10_000 });
    store.behave("well");
    await hears(b, "key_1");
  });

  test("a node that stops publishes what it still has to say", async () => {
    const [a, b] = [startNode(), startNode()];
    a.feed.doubt(["key_1"]);
    await a.feed.stop();
    await hears(b, "key_1");
  });

  /** A feed whose store keeps every announcement waiting until the test lets it go. */
  const slowly = (durable = true) => {
    const appended: { readonly id: string; readonly ids: readonly string[]; readonly end: PromiseWithResolvers<void> }[] = [];
    const slow: ChangesRepository = {
      ...changes,
      append: (id, _node, ids) => {
        const end = Promise.withResolvers<void>();
        appended.push({ id, ids, end });
        return end.promise;
      },
    };
    return { appended, feed: createAnnouncementFeed({ clock, invalidations: createInvalidations(clock), changes: slow, durable }) };
  };

  test("announce resolves when the store has the announcement, and not before", async () => {
    const { appended, feed } = slowly();
    let isThere = false;
    const announced = feed.announce(["key_1"]).then(() => {
      isThere = true;
    });
    await expect.poll(() => appended.length).toBe(1);
    expect(isThere).toBe(false);
    appended[0]?.end.resolve();
    await announced;
  });

  test("where no other node shares the store, a write does not wait for its announcement, which is stored soon after", async () => {
    const { appended, feed } = slowly(false);
    await feed.announce(["key_1"]);
    expect(appended).toEqual([]);
    await expect.poll(() => appended.map(({ ids }) => ids)).toEqual([["key_1"]]);
    appended[0]?.end.resolve();
    await feed.stop();
  });

  test("announcements made during an insert share the next one", async () => {
    const { appended, feed } = slowly();
    const first = feed.announce(["key_1"]);
    const others = [feed.announce(["key_2"]), feed.announce(["key_3", "key_2"])];
    appended[0]?.end.resolve();
    await first;
    await expect.poll(() => appended.length).toBe(2);
    expect(appended.map(({ ids }) => ids)).toEqual([["key_1"], ["key_2", "key_3"]]);
    appended[1]?.end.resolve();
    await Promise.all(others);
  });

  test("where many are announced, those that come right after an insert share the next one with those that waited for it", async () => {
    const { appended, feed } = slowly();
    const first = feed.announce(["key_1"]);
    const others = [feed.announce(["key_2"])];
    appended[0]?.end.resolve();
    await first;
    await new Promise(setImmediate);
    others.push(feed.announce(["key_3"]));
    await expect.poll(() => appended.length).toBe(2);
    expect(appended[1]?.ids).toEqual(["key_2", "key_3"]);
    appended[1]?.end.resolve();
    await Promise.all(others);
  });

  test("an announcement that the store does not take is refused, and is no hindrance for the next", async () => {
    const { appended, feed } = slowly();
    const refused = feed.announce(["key_1"]);
    appended[0]?.end.reject(new Error("away"));
    await expect(refused).rejects.toThrow("away");
    const taken = feed.announce(["key_2"]);
    await expect.poll(() => appended.length).toBe(2);
    appended[1]?.end.resolve();
    await taken;
  });

  test("an announcement that arrived so late that polls may be past its id is made again", async () => {
    const { appended, feed } = slowly();
    const announced = feed.announce(["key_1"]);
    ahead += 2_001;
    appended[0]?.end.resolve();
    await expect.poll(() => appended.length).toBe(2);
    appended[1]?.end.resolve();
    await announced;
    expect(appended.map(({ ids }) => ids)).toEqual([["key_1"], ["key_1"]]);
    expect(appended[1]?.id).not.toBe(appended[0]?.id);
  });

  test("an announcement that the store takes too slowly is given up after 3 s", async () => {
    const { appended, feed } = slowly();
    const announced = feed.announce(["key_1"]);
    ahead += 2_001;
    appended[0]?.end.resolve();
    await expect.poll(() => appended.length).toBe(2);
    ahead += 2_001;
    appended[1]?.end.resolve();
    await expect(announced).rejects.toThrow("too slowly");
    expect(appended.length).toBe(2);
  });

  test("a node stops though the store never takes what it still has to say", async () => {
    const { appended, feed } = slowly();
    void feed.announce(["key_1"]);
    feed.doubt(["key_2"]);
    await feed.stop();
    expect(appended.map(({ ids }) => ids)).toEqual([["key_1"]]);
  });

  test("contact with the feed is as old as the question that was answered last", async () => {
    const before = clock.monotonic();
    const { contact, errors } = startNode();
    await expect.poll(() => contact.heardAt).toBeGreaterThanOrEqual(before);
    store.behave("fails");
    await expect.poll(() => errors.length).toBeGreaterThan(1);
    const heardAt = contact.heardAt;
    await expect.poll(() => errors.length).toBeGreaterThan(3);
    expect(contact.heardAt).toBe(heardAt);
    store.behave("well");
    await expect.poll(() => contact.heardAt).toBeGreaterThan(heardAt);
  });

  test("more ids than one entry holds are all heard of", async () => {
    const [a, b] = [startNode(), startNode()];
    const ids = Array.from({ length: 12_000 }, (_, i) => `key_${i}`);
    await a.feed.announce(ids);
    await hears(b, "key_11999");
    expect(ids.filter((id) => !b.invalidations.changedSince([id], 0))).toEqual([]);
  });
});
