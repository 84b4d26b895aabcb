import { addressOf } from "../addressOf.ts";
import { excerptOf } from "./excerpt.ts";
import { createSearch, type SearchResult, type Section } from "./searchIndex.ts";

/** Runs in the browser, on the search page: shows what is found for the query of its address (`/docs?q=…`). */
const element = <T extends Element>(selector: string): T => {
  const found = document.querySelector<T>(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
};

const itemOf = ({ section, words }: SearchResult): HTMLLIElement => {
  const { path, title, heading, slug, text } = section;
  const link = document.createElement("a");
  link.href = addressOf(path) + (slug && `#${slug}`);
  link.textContent = heading === "" ? title : `${title}: ${heading}`;
  const excerpt = document.createElement("p");
  for (const piece of excerptOf(text, words)) {
    if (piece.isFound) excerpt.append(Object.assign(document.createElement("mark"), { textContent: piece.text }));
    else excerpt.append(piece.text);
  }
  const item = document.createElement("li");
  item.append(link, excerpt);
  return item;
};

const field = element<HTMLInputElement>("input[name=q]");
const status = element("#_status");
const list = element<HTMLOListElement>("#_results");

const show = async (): Promise<void> => {
  const given = new URLSearchParams(location.search).get("q") ?? "";
  const query = [...given.trim()].slice(0, field.maxLength).join("").toWellFormed();
  field.value = query;
  element("h1").textContent = `Search results for “${query}”`;
  document.title = `Search results for ${query} · ${document.title}`;
  status.textContent = "Searching…";
  const answer = await fetch(list.dataset.sections ?? "");
  if (!answer.ok) throw new Error(`the sections answered ${answer.status}`);
  const search = await createSearch((await answer.json()) as Section[]);
  const results = search(query);
  status.textContent = results.length === 0 ? "No results." : `${results.length} ${results.length === 1 ? "result" : "results"}`;
  list.append(...results.map(itemOf));
};

show().catch((error: unknown) => {
  status.textContent = "The search could not be loaded. Reload this page, or use the list of all pages.";
  throw error;
});
