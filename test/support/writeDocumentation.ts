import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { renderSite } from "../../docs/build/site/renderSite.ts";
import { updateFolder } from "../../docs/build/updateFolder.ts";

const files: Readonly<Record<string, string>> = {
  "README.md": `# Latchkey

Everything about Latchkey, by purpose.

## Guides

- [Getting started](getting-started.md): from nothing to a verified key.
- [Getting started again](getting-started.md#start-it)

## Reference

| Page | What is there |
|---|---|
| [Procedures](reference/README.md) | one page for each |
| [Errors](errors/README.md#all) | what an \`error.type\` means |

See the [README](../README.md), the [OpenAPI document](openapi.json) and [another site](https://example.com/x).
`,
  "getting-started.md": `# Getting started

Take a new machine to its first verified key.

<!-- Nobody sees this. -->

## Start it

\`\`\`sh
npm ci && npm start -- --with-a-rather-long-option=that-does-not-fit-into-a-narrow-window --and-another-one=of-the-same-length
\`\`\`

![The console](pictures/console.png) and ![far away](https://example.com/tracker.png)

## What \`createKey\` does

It makes a key; see [its fields](reference/keys.createKey.md#fields), a [page that is missing](nowhere.md) and [the source](../src/main.ts).

> [!WARNING]
> Keep the **root key** secret.

\`\`\`
caller ──► service ──► store, a drawing that is wider than a narrow window and stays as it was drawn
\`\`\`

## Start it

A second heading of the same name, with <script>alert("x")</script> and <b>HTML</b>.
`,
  "reference/README.md": "# Procedures\n\nAll procedures.\n\n- [keys.createKey](keys.createKey.md)\n",
  "internals/caches.md": "# Caches\n\nFor maintainers, not served.\n",
  "reference/settings.md": "# Settings\n\nEvery setting.\n",
  "reference/keys.createKey.md": `# \`keys.createKey\`

Create an API key for a user of your API.

## Fields

| Field | | Meaning |
|---|--:|---|
| \`apiId\` | required | The API that the key opens. |
| \`externalId\` | optional | Whose key it is: any text that your own system knows, such as an e-mail address or the number of a customer. |

## Errors

See [key_not_found](../errors/unkey/data/key_not_found.md).
`,
  "errors/README.md": "# Errors\n\nEvery error type.\n\n## All\n\n- [key_not_found](unkey/data/key_not_found.md)\n",
  "errors/unkey/data/key_not_found.md": `# key_not_found

No key has this id.

## Cause

The key was deleted, or its API was.

## What to do

List the keys of the API, and take an id from there.
`,
  "errors/unkey/console/sign_in_failed.md": "# sign_in_failed\n\nNo root key that may sign in is this one.\n",
  "übersicht.md": "# Übersicht\n\nA page with another name.\n",
  "openapi.json": "{}",
  "script.js": "alert(1)",
  ".hidden.md": "# Hidden\n",
  "pictures/console.png": "not really a picture",
};

/** Writes a small documentation, renders it, and returns the directory with the result: the caller removes that directory's parent. */
export const writeDocumentation = async (): Promise<string> => {
  const parent = await mkdtemp(join(tmpdir(), "latchkey-docs-"));
  const directory = join(parent, "docs");
  await mkdir(directory);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
  await writeFile(join(parent, "ARCHITECTURE.md"), "# Secret of the parent\n");
  await symlink(join(parent, "ARCHITECTURE.md"), join(directory, "linked.md"));
  await symlink(parent, join(directory, "above"));
  const rendered = join(parent, "rendered");
  updateFolder(rendered, await renderSite({ directory, version: "1.2.3" }), false);
  await symlink(join(parent, "ARCHITECTURE.md"), join(rendered, "linked.html"));
  await symlink(parent, join(rendered, "above"));
  return rendered;
};
