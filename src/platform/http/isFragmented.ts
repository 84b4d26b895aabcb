import { freeBodyPieces, leastPieceBytes } from "./limits.ts";

/** True for a body that came in more and smaller pieces than any client has reason to send: each costs as much as a large one. */
export const isFragmented = (pieces: number, bytes: number): boolean => pieces > freeBodyPieces && bytes < pieces * leastPieceBytes;
