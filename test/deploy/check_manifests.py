"""Renders the manifests with kubectl and the chart with helm, checks every object against its schema, and compares the two.

Kubernetes' own objects are checked against the schemas of `kubernetes-validate`, strictly; those of operators against the
CustomResourceDefinitions in the folders that are given, with unknown fields refused. Everything is on this machine by then.

    check_manifests.py KUBECTL HELM CRD_FOLDER…
"""

import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
import kubernetes_validate
import yaml

KUBERNETES = "1.33"
root = pathlib.Path(__file__).resolve().parents[2]
manifests = root / "deploy/kubernetes"
chart = root / "deploy/helm/latchkey"
problems = []

# What the values of the chart are called that do the same as a component.
VALUES = {
    "embedded": {"store": "embedded"},
    "mongodb": {"store": "mongodb"},
    "clickhouse": {"secrets": {"clickhouse": "latchkey-clickhouse"}},
    "counters": {"secrets": {"counters": "latchkey-counters"}},
    "encryption": {"secrets": {"encryption": "latchkey-encryption"}},
    "tls": {"tls": {"enabled": True}},
    "client-certificates": {"tls": {"clientCertificates": {"required": True}}},
    "network-policy": {"networkPolicy": {"enabled": True}},
    "autoscaling": {"autoscaling": {"enabled": True}},
    "monitoring": {"monitoring": {"enabled": True}},
    "admin-token": {"secrets": {"admin": "latchkey-admin"}},
    "admin-tls": {"tls": {"adminPort": True}},
    "ingress": {"ingress": {"enabled": True}},
    "gateway": {"gateway": {"enabled": True}},
}
NOT_WITH_EMBEDDED = {"autoscaling"}
# What a component builds on.
NEEDED = {"client-certificates": ["tls"], "admin-token": ["monitoring"], "admin-tls": ["tls", "monitoring"]}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return [document for document in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if document is not None]


def closed(schema):
    """The schema of a custom resource as JSON Schema that refuses what a cluster would silently drop."""
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items() if key in ("items", "additionalProperties")}
    for key in ("anyOf", "oneOf", "allOf"):
        # Only conditions stand there: what they do not name is named outside.
        if key in schema:
            made[key] = schema[key]
    for key in ("type", "enum", "pattern", "required", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "not"):
        if key in schema:
            made[key] = schema[key]
    if "properties" in schema:
        made["properties"] = {name: closed(value) for name, value in schema["properties"].items()}
        if "additionalProperties" not in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
            made["additionalProperties"] = False
    return made


def custom_schemas(folders):
    found = {}
    for path in itertools.chain.from_iterable(pathlib.Path(folder).rglob("*.yaml") for folder in folders):
        if not any(kind in path.name for kind in ("podmonitors", "prometheusrules", "certificates", "httproutes", "grpcroutes")):
            continue
        for definition in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
            for version in definition["spec"]["versions"]:
                schema = closed(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                found[f"{definition['spec']['group']}/{version['name']}", definition["spec"]["names"]["kind"]] = schema
    return found


def check_schema(where, documents, schemas):
    for document in documents:
        kind = document["apiVersion"], document["kind"]
        try:
            if kind in schemas:
                jsonschema.Draft7Validator(schemas[kind]).validate(document)
            else:
                kubernetes_validate.validate(document, KUBERNETES, strict=True)
        except (jsonschema.ValidationError, kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
            problems.append(f"{where}: {kind[1]} {document['metadata']['name']}: {getattr(error, 'message', error)} at {list(getattr(error, 'path', []))}")


def plain(value):
    """Without what only one of the two writes: labels of releases, tags of images, the order of lists with names."""
    if isinstance(value, dict):
        return {
            key: plain(item.split(":")[0] if key == "image" else item)
            for key, item in value.items()
            if not str(key).startswith(("app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/"))
        }
    if isinstance(value, list):
        items = [plain(item) for item in value]
        return sorted(items, key=lambda item: item["name"]) if all(isinstance(item, dict) and "name" in item for item in items) else items
    return value


def by_kind(documents):
    found = {}
    for document in documents:
        metadata = document["metadata"]
        # kustomize labels what the base has, the chart everything.
        labels = {key: label for key, label in metadata.get("labels", {}).items() if key == "grafana_dashboard"}
        found[document["kind"], metadata["name"]] = plain({**document, "metadata": {"name": metadata["name"], "labels": labels}})
    return found


def difference(path, left, right):
    if isinstance(left, dict) and isinstance(right, dict):
        return [text for key in sorted({*left, *right}) for text in difference(f"{path}.{key}", left.get(key), right.get(key))]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [text for i, pair in enumerate(zip(left, right)) for text in difference(f"{path}[{i}]", *pair)]
    return [] if left == right else [f"{path}: kustomize has {str(left)[:120]}, the chart {str(right)[:120]}"]


def merged(parts):
    values = {}
    for part in parts:
        for key, value in part.items():
            values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    return values


def main(kubectl, helm, *folders):
    schemas = custom_schemas(folders)
    others = [name for name in VALUES if name not in ("embedded", "mongodb")]
    if set(VALUES) != {path.name for path in (manifests / "components").iterdir()}:
        problems.append("a component has no values of the chart, or none is there")
    cases = [["mongodb"], ["embedded"], *(["mongodb", *NEEDED.get(name, []), name] for name in others), ["mongodb", *others]]
    cases.append(["embedded", *(name for name in others if name not in NOT_WITH_EMBEDDED)])
    with tempfile.TemporaryDirectory() as folder:
        up = os.path.relpath(manifests, os.path.realpath(folder))
        for components in cases:
            where = " + ".join(components)
            lines = {"resources": [f"{up}/base"], "components": [f"{up}/components/{name}" for name in components]}
            pathlib.Path(folder, "kustomization.yaml").write_text(yaml.safe_dump(lines))
            pathlib.Path(folder, "values.yaml").write_text(yaml.safe_dump(merged(VALUES[name] for name in components)))
            rendered = run(kubectl, "kustomize", folder)
            charted = run(helm, "template", "latchkey", chart, "--values", f"{folder}/values.yaml")
            check_schema(f"kustomize {where}", rendered, schemas)
            left, right = by_kind(rendered), by_kind(charted)
            for key in sorted({*left, *right}):
                problems.extend(f"{where}: {text}" for text in difference(f"{key[0]} {key[1]}", left.get(key), right.get(key)))
    for overlay in (manifests / "overlays").iterdir():
        check_schema(f"overlay {overlay.name}", run(kubectl, "kustomize", overlay), schemas)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(cases)} combinations rendered twice, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
