#!/bin/sh
# The server cases of connectconformance against test/conformance/server.ts. The messages of the suite are described in its Go
# module, so code for them is generated from there at each run, and the server type-checked with it. The arguments of this
# script are passed to connectconformance. Run from the root of the checkout, by npm.
set -eu
version=v1.0.6
missing() {
  echo "$1: go install connectrpc.com/conformance/cmd/connectconformance@$version" >&2
  exit 1
}
command -v go >/dev/null || missing 'The conformance suite needs Go (https://go.dev/dl/), and then'
PATH="$PATH:$(go env GOPATH)/bin"
command -v connectconformance >/dev/null || missing 'There is no connectconformance on the path or where Go installs programs'
found=$(connectconformance --version)
[ "$found" = "connectconformance $version" ] || missing "This is $found, not $version"
# Asked outside of any Go module that the checkout may lie in, and without a download.
module=$(cd / && GO111MODULE=on GOPROXY=off go list -m -f '{{.Dir}}' "connectrpc.com/conformance@$version" 2>/dev/null) || module=
[ -n "$module" ] || missing "The module cache of Go lacks the source of connectconformance"

buf generate "$module/proto" --template test/conformance/buf.gen.yaml
tsc -p test/conformance
exec connectconformance --mode server --conf test/conformance/config.yaml \
  --known-failing @test/conformance/known-failing.txt "$@" -- node test/conformance/server.ts
