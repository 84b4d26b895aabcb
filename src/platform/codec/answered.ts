/** What answers are about, again and again; what they show of it never changes. */
export interface Answered {
  /** Whether there was an answer. */
  answered: boolean;
  /** What whoever writes answers keeps here, for as long as this lives. Nobody else looks into it. */
  written: object | undefined;
}
