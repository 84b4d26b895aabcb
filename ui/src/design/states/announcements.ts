import { type Signal, signal } from "@preact/signals";

/** Something that has happened, shown for a while and read out politely. */
export interface Announcement {
  readonly id: number;
  readonly text: string;
}

/** Those that show, oldest first. */
export const announcements: Signal<readonly Announcement[]> = signal<readonly Announcement[]>([]);

/** Milliseconds that one shows: long enough to be read. */
const shown = 8000;

let last = 0;

/** Says that something has happened: "Saved." A failure is said where it belongs, not here. */
export const announce = (text: string): void => {
  last += 1;
  const id = last;
  announcements.value = [...announcements.value.slice(-2), { id, text }];
  setTimeout(() => {
    announcements.value = announcements.value.filter((announcement) => announcement.id !== id);
  }, shown);
};
