import type { ComponentType } from "preact";
import { lazyPart } from "../design/states/lazyPart.tsx";

/** The shell, loaded after sign-in: the sign-in page does not need it (console §1). */
export const LazyShell: ComponentType = lazyPart(async () => (await import("./Shell.tsx")).Shell, 4);
