#!/bin/sh
# Lint, format, compatibility with main, and whether what is generated from it is current. Run from the root of the checkout.
set -eu
buf lint
buf format --diff --exit-code
for base in main origin/main; do
  if git cat-file -e "$base:buf.yaml" 2>/dev/null; then
    # The one module by its folder: the workspace of another commit may have had more of them.
    buf breaking proto --against ".git#ref=$(git rev-parse "$base"),subdir=proto"
    break
  fi
done
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
buf generate --output "$fresh"
diff -r "$fresh/gen" gen || {
  echo "gen/ is out of date: npm run generate" >&2
  exit 1
}
node docs/build/openapi/writeOpenapi.ts "$fresh/openapi.json"
diff "$fresh/openapi.json" docs/openapi.json || {
  echo "docs/openapi.json is out of date: npm run generate" >&2
  exit 1
}
