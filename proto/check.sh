#!/bin/sh
# Lint, format, compatibility with main, and whether what is generated of it is current. Run from the root of the checkout.
set -eu
buf lint
buf format --diff --exit-code
for base in main origin/main; do
  if git cat-file -e "$base:buf.yaml" 2>/dev/null; then
    buf breaking --against ".git#ref=$(git rev-parse "$base")"
    break
  fi
done
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
buf generate --output "$fresh"
buf generate --output "$fresh" --template test/conformance/buf.gen.yaml
for gen in gen test/conformance/gen; do
  diff -r "$fresh/$gen" "$gen" || {
    echo "$gen/ is out of date: npm run generate" >&2
    exit 1
  }
done
