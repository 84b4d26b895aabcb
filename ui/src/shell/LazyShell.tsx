import type { ComponentType } from "preact";
import { lazyPart } from "../design/states/lazyPart.tsx";

/** The shell, loaded once somebody is signed in: the sign-in page does without it (console §1). */
export const LazyShell: ComponentType = lazyPart(async () => (await import("./Shell.tsx")).Shell, 4);
