import type { JsonObject } from "@bufbuild/protobuf";

/** A JSON object as somebody typed it. @returns undefined for what is none */
export const readJsonObject = (text: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
};
