"""Drives every procedure that the official Python client has against a running service.

Settings come from the environment: SERVICE_URL and ROOT_KEY of a service that holds the migration MIGRATION_ID and can
encrypt keys; BLOCKED_URL and BLOCKED_ROOT_KEY of one whose management rate limit is 0. Prints, as JSON, the procedures
that succeeded, those that were refused in a form which the client did not recognise, and how many calls it made. The
client checks every answer against its own models; whatever fails such a check, or an assertion here, ends the program.
"""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import httpx
from unkey.py import Unkey, errors, models

HOUR = 3_600_000

calls = 0
succeeded: set[str] = set()


def record(response: httpx.Response) -> None:
    global calls
    calls += 1
    if response.status_code == 200:
        succeeded.add(response.request.url.path.removeprefix("/v2/"))


def connect(url: str, root_key: str) -> Unkey:
    """The client with nothing changed but its server URL. The HTTP client is the one it makes itself, overheard."""
    heard = httpx.Client(follow_redirects=True, event_hooks={"response": [record]})
    return Unkey(root_key=root_key, server_url=url, client=heard, timeout_ms=60_000)


def unique(stem: str) -> str:
    return f"{stem}_{secrets.token_hex(6)}"


def expect(condition: bool, what: object) -> None:
    if not condition:
        raise AssertionError(what)


def refused(kind: type[errors.UnkeyError], call: Callable[[], object]) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was expected")


def pages(page: Any) -> Iterator[Any]:
    """Every item of a paged list, as the client walks it."""
    while page is not None:
        yield from page.result.data
        page = page.next()


def drive_keys(unkey: Unkey, migration_id: str) -> None:
    api_id = unkey.apis.create_api(name="python").data.api_id
    expect(unkey.apis.get_api(api_id=api_id).data.name == "python", "the name of the API")
    role = unique("editor")
    unkey.permissions.create_role(name=role, permissions=["docs.write"])
    user = unique("user")
    created = unkey.keys.create_key(
        api_id=api_id,
        prefix="python",
        name="first",
        external_id=user,
        meta={"plan": "pro", "nested": {"null": None, "list": [1, 2.5, "x"]}},
        permissions=["docs.read"],
        roles=[role],
        expires=int(time.time() * 1000) + HOUR,
        credits={"remaining": 100, "refill": {"interval": "monthly", "amount": 5, "refill_day": 15}},
        ratelimits=[{"name": "requests", "limit": 10, "duration": 60_000, "auto_apply": True}],
        recoverable=True,
    ).data
    key_id = created.key_id
    shown = unkey.keys.get_key(key_id=key_id, decrypt=True).data
    expect(shown.plaintext == created.key and shown.roles == [role], shown)
    expect(sorted(shown.permissions or []) == ["docs.read", "docs.write"], shown.permissions)
    expect(unkey.keys.whoami(key=created.key).data.key_id == key_id, "whoami")
    verified = unkey.keys.verify_key(
        key=created.key,
        permissions="docs.read AND (docs.write OR docs.none)",
        tags=["path=/"],
        credits={"cost": 3},
        ratelimits=[{"name": "inline", "limit": 5, "duration": 1_000}, {"name": "requests", "cost": 2}],
    ).data
    expect(verified.valid and verified.code == "VALID" and verified.credits == 97, verified)
    expect(verified.identity is not None and verified.identity.external_id == user, verified.identity)
    unkey.keys.update_key(key_id=key_id, name=None, meta={"plan": "free"}, external_id=None, expires=None)
    unkey.keys.update_key(key_id=key_id, credits={"remaining": 5}, ratelimits=[], enabled=True, roles=[role], permissions=["docs.read"])
    expect(unkey.keys.update_credits(key_id=key_id, operation=models.Operation.INCREMENT, value=5).data.remaining == 10, "increment")
    expect(unkey.keys.update_credits(key_id=key_id, operation=models.Operation.SET, value=None).data.remaining is None, "unlimited")

    unkey.keys.add_permissions(key_id=key_id, permissions=["docs.delete"])
    unkey.keys.set_permissions(key_id=key_id, permissions=["docs.delete", "docs.read"])
    left = unkey.keys.remove_permissions(key_id=key_id, permissions=["docs.delete"]).data
    expect([each.slug for each in left] == ["docs.read"], left)
    expect(unkey.keys.remove_roles(key_id=key_id, roles=[role]).data == [], "no role is left")
    unkey.keys.add_roles(key_id=key_id, roles=[role])
    expect(unkey.keys.set_roles(key_id=key_id, roles=[role]).data[0].name == role, "the role is set")

    item = {"hash": sha256(unique("imported").encode()).hexdigest(), "name": "imported", "credits": {"remaining": 1}, "roles": [role]}
    imported = unkey.keys.migrate_keys(migration_id=migration_id, api_id=api_id, keys=[item]).data
    expect(imported.failed == [] and len(imported.migrated) == 1, imported)
    rerolled = unkey.keys.reroll_key(key_id=key_id, expiration=0).data
    expect(unkey.keys.verify_key(key=created.key).data.code == "EXPIRED", "the old key")
    expect(unkey.keys.verify_key(key="nothing").data.code == "NOT_FOUND", "an unknown key")
    listed = {each.key_id for each in pages(unkey.apis.list_keys(api_id=api_id, limit=1))}
    expect(listed == {key_id, rerolled.key_id, imported.migrated[0].key_id}, listed)
    unkey.keys.delete_key(key_id=rerolled.key_id, permanent=True)
    unkey.apis.delete_api(api_id=api_id)


def drive_identities(unkey: Unkey) -> None:
    user = unique("acme")
    limit = {"name": "shared", "limit": 3, "duration": 60_000, "auto_apply": True}
    identity_id = unkey.identities.create_identity(external_id=user, meta={"tier": 1}, ratelimits=[limit]).data.identity_id
    found = unkey.identities.get_identity(identity=user).data
    expect(found.id == identity_id and found.ratelimits is not None and found.ratelimits[0].name == "shared", found)
    expect(unkey.identities.update_identity(identity=identity_id, meta={}, ratelimits=[]).data.external_id == user, "updated")
    unkey.identities.create_identity(external_id=unique("acme"))
    expect(identity_id in {each.id for each in pages(unkey.identities.list_identities(limit=1))}, "listed")
    unkey.identities.delete_identity(identity=identity_id)


def drive_permissions(unkey: Unkey) -> None:
    slug = unique("billing.read")
    permission_id = unkey.permissions.create_permission(name="Billing", slug=slug, description="d").data.permission_id
    expect(unkey.permissions.get_permission(permission=slug).data.id == permission_id, "found by its slug")
    renamed = unkey.permissions.update_permission(permission=permission_id, name="Bills", slug=f"{slug}.x", description=None).data
    expect((renamed.slug, renamed.name, renamed.description) == (f"{slug}.x", "Bills", None), renamed)
    name = unique("billing")
    role_id = unkey.permissions.create_role(name=name, permissions=[renamed.slug]).data.role_id
    role = unkey.permissions.get_role(role=name).data
    expect(role.permissions is not None and role.permissions[0].id == permission_id, role)
    updated = unkey.permissions.update_role(role=role_id, name=f"{name} team", description="who pays").data
    expect((updated.id, updated.name, updated.description) == (role_id, f"{name} team", "who pays"), updated)
    unkey.permissions.set_role_permissions(request={"role": updated.name, "permissions": [renamed.slug, "docs.read"]})
    expect(unkey.permissions.set_role_permissions(request={"role_id": role_id, "permissions": []}).data == [], "cleared")
    expect(role_id in {each.id for each in pages(unkey.permissions.list_roles(limit=1))}, "listed")
    expect(permission_id in {each.id for each in pages(unkey.permissions.list_permissions(limit=1))}, "listed")
    unkey.permissions.delete_permission(permission=permission_id)
    unkey.permissions.delete_role(role=role_id)


def drive_ratelimit(unkey: Unkey) -> None:
    namespace = unique("python")
    check = {"namespace": namespace, "identifier": "user_1", "limit": 10, "duration": 600_000}
    first = unkey.ratelimit.limit(**check, cost=2).data
    expect(first.success and first.remaining == 8, first)
    expect(unkey.ratelimit.multi_limit(request=[check, {**check, "identifier": "user_2"}]).data.passed, "both pass")
    override = {"namespace": namespace, "identifier": "user_*"}
    override_id = unkey.ratelimit.set_override(**override, limit=0, duration=600_000).data.override_id
    denied = unkey.ratelimit.limit(**check).data
    expect((denied.success, denied.limit, denied.override_id) == (False, 0, override_id), denied)
    expect(unkey.ratelimit.get_override(**override).data.override_id == override_id, "the override")
    expect(len(list(pages(unkey.ratelimit.list_overrides(namespace=namespace)))) == 1, "listed")
    unkey.ratelimit.delete_override(**override)


def drive_root_keys(unkey: Unkey, url: str) -> None:
    permissions = ["api.*.read_api", "api.*.create_api"]
    expires = int(time.time() * 1000) + HOUR
    made = unkey.root_keys.create_key(permissions=permissions, name="python", expires=expires).data
    plain = unkey.root_keys.create_key(permissions=["apis.*.read_api"]).data
    connect(url, made.key).apis.create_api(name="made by a new root key")
    unkey.root_keys.update_key(key_id=made.key_id, name=None, enabled=True, permissions=["api.*.read_api"])
    refused(errors.ForbiddenErrorResponse, lambda: connect(url, made.key).apis.create_api(name="no longer"))
    listed = {each.key_id: each for each in pages(unkey.root_keys.list_keys(limit=1))}
    shown, everlasting = listed[made.key_id], listed[plain.key_id]
    expect((shown.name, shown.expires, shown.permissions) == (None, expires, ["api.*.read_api"]), shown)
    expect((everlasting.expires, everlasting.last_used_at) == (None, 0), everlasting)
    expect(made.key.startswith(shown.start) and made.key.endswith(shown.end), shown)
    rerolled = unkey.root_keys.reroll_key(key_id=made.key_id, expiration=0).data
    refused(errors.UnauthorizedErrorResponse, lambda: connect(url, made.key).apis.create_api(name="rerolled"))
    kept = unkey.root_keys.reroll_key(key_id=rerolled.key_id, expiration=None).data
    for each in (made.key_id, plain.key_id, rerolled.key_id, kept.key_id):
        unkey.root_keys.delete_key(key_id=each)


def drive_analytics(unkey: Unkey) -> None:
    queries = [
        (unkey.analytics.get_verifications, "SELECT COUNT(*) AS count FROM key_verifications_v1"),
        (unkey.analytics.get_ratelimits, "SELECT COUNT(*) AS count FROM ratelimits_v1"),
    ]
    for procedure, query in queries:
        rows = procedure(query=query).data
        expect(len(rows) == 1 and "count" in rows[0], rows)


def recognise_errors(unkey: Unkey, url: str) -> None:
    weak = unkey.root_keys.create_key(permissions=["api.*.read_api"]).data
    powerless = connect(url, weak.key)
    refused(errors.BadRequestErrorResponse, lambda: unkey.keys.get_key(key_id="x"))
    refused(errors.ForbiddenErrorResponse, lambda: powerless.apis.create_api(name="refused"))
    refused(errors.ForbiddenErrorResponse, lambda: powerless.root_keys.create_key(permissions=["api.*.create_key"]))
    refused(errors.NotFoundErrorResponse, lambda: unkey.keys.get_key(key_id="key_unknown"))
    refused(errors.NotFoundErrorResponse, lambda: unkey.root_keys.delete_key(key_id="rk_unknown"))
    refused(errors.NotFoundErrorResponse, lambda: unkey.identities.delete_identity(identity="nobody"))
    user = unique("twice")
    unkey.identities.create_identity(external_id=user)
    refused(errors.ConflictErrorResponse, lambda: unkey.identities.create_identity(external_id=user))
    slugs = [unique("taken"), unique("other")]
    for slug in slugs:
        unkey.permissions.create_permission(name=slug, slug=slug)
        unkey.permissions.create_role(name=slug)
    refused(errors.ConflictErrorResponse, lambda: unkey.permissions.create_permission(name="x", slug=slugs[0].upper()))
    refused(errors.ConflictErrorResponse, lambda: unkey.permissions.update_permission(permission=slugs[1], slug=slugs[0]))
    refused(errors.ConflictErrorResponse, lambda: unkey.permissions.update_role(role=slugs[1], name=slugs[0]))
    refused(errors.NotFoundErrorResponse, lambda: unkey.permissions.update_role(role="role_unknown", name="x"))


def every_procedure(unkey: Unkey) -> dict[str, Callable[[], object]]:
    """One call of each, by a caller who is refused before anyone looks at what it asks for."""
    key, perm, role = {"key_id": "key_1"}, {"permissions": ["docs.read"]}, {"roles": ["editor"]}
    check = {"namespace": "python", "identifier": "user_1", "limit": 1, "duration": 1_000}
    override = {"namespace": "python", "identifier": "user_1"}
    hashes = [{"hash": sha256(b"x").hexdigest()}]
    root_key = {"key_id": "rk_1"}
    return {
        "analytics.getRatelimits": lambda: unkey.analytics.get_ratelimits(query="SELECT 1"),
        "analytics.getVerifications": lambda: unkey.analytics.get_verifications(query="SELECT 1"),
        "apis.createApi": lambda: unkey.apis.create_api(name="python"),
        "apis.deleteApi": lambda: unkey.apis.delete_api(api_id="api_12345"),
        "apis.getApi": lambda: unkey.apis.get_api(api_id="api_12345"),
        "apis.listKeys": lambda: unkey.apis.list_keys(api_id="api_12345"),
        "identities.createIdentity": lambda: unkey.identities.create_identity(external_id="user"),
        "identities.deleteIdentity": lambda: unkey.identities.delete_identity(identity="user"),
        "identities.getIdentity": lambda: unkey.identities.get_identity(identity="user"),
        "identities.listIdentities": lambda: unkey.identities.list_identities(),
        "identities.updateIdentity": lambda: unkey.identities.update_identity(identity="user"),
        "keys.addPermissions": lambda: unkey.keys.add_permissions(**key, **perm),
        "keys.addRoles": lambda: unkey.keys.add_roles(**key, **role),
        "keys.createKey": lambda: unkey.keys.create_key(api_id="api_12345"),
        "keys.deleteKey": lambda: unkey.keys.delete_key(**key),
        "keys.getKey": lambda: unkey.keys.get_key(**key),
        "keys.migrateKeys": lambda: unkey.keys.migrate_keys(migration_id="mig_1", api_id="api_12345", keys=hashes),
        "keys.removePermissions": lambda: unkey.keys.remove_permissions(**key, **perm),
        "keys.removeRoles": lambda: unkey.keys.remove_roles(**key, **role),
        "keys.rerollKey": lambda: unkey.keys.reroll_key(**key, expiration=0),
        "keys.setPermissions": lambda: unkey.keys.set_permissions(**key, **perm),
        "keys.setRoles": lambda: unkey.keys.set_roles(**key, **role),
        "keys.updateCredits": lambda: unkey.keys.update_credits(**key, operation=models.Operation.SET, value=1),
        "keys.updateKey": lambda: unkey.keys.update_key(**key),
        "keys.verifyKey": lambda: unkey.keys.verify_key(key="python_x"),
        "keys.whoami": lambda: unkey.keys.whoami(key="python_x"),
        "permissions.createPermission": lambda: unkey.permissions.create_permission(name="Read", slug="docs.read"),
        "permissions.createRole": lambda: unkey.permissions.create_role(name="editor"),
        "permissions.deletePermission": lambda: unkey.permissions.delete_permission(permission="docs.read"),
        "permissions.deleteRole": lambda: unkey.permissions.delete_role(role="editor"),
        "permissions.getPermission": lambda: unkey.permissions.get_permission(permission="docs.read"),
        "permissions.getRole": lambda: unkey.permissions.get_role(role="editor"),
        "permissions.listPermissions": lambda: unkey.permissions.list_permissions(),
        "permissions.listRoles": lambda: unkey.permissions.list_roles(),
        "permissions.setRolePermissions": lambda: unkey.permissions.set_role_permissions(request={"role": "editor", "permissions": []}),
        "permissions.updatePermission": lambda: unkey.permissions.update_permission(permission="docs.read", name="Read"),
        "permissions.updateRole": lambda: unkey.permissions.update_role(role="editor", name="Editor"),
        "ratelimit.deleteOverride": lambda: unkey.ratelimit.delete_override(**override),
        "ratelimit.getOverride": lambda: unkey.ratelimit.get_override(**override),
        "ratelimit.limit": lambda: unkey.ratelimit.limit(**check),
        "ratelimit.listOverrides": lambda: unkey.ratelimit.list_overrides(namespace="python"),
        "ratelimit.multiLimit": lambda: unkey.ratelimit.multi_limit(request=[check]),
        "ratelimit.setOverride": lambda: unkey.ratelimit.set_override(**override, limit=1, duration=1_000),
        "rootKeys.createKey": lambda: unkey.root_keys.create_key(**{"permissions": ["api.*.read_api"]}),
        "rootKeys.deleteKey": lambda: unkey.root_keys.delete_key(**root_key),
        "rootKeys.listKeys": lambda: unkey.root_keys.list_keys(),
        "rootKeys.rerollKey": lambda: unkey.root_keys.reroll_key(**root_key, expiration=0),
        "rootKeys.updateKey": lambda: unkey.root_keys.update_key(**root_key, enabled=False),
    }


def unrecognised(unkey: Unkey, kind: type[errors.UnkeyError]) -> dict[str, str]:
    """The procedures whose refusal the client does not take for this kind of error, with what it took it for."""
    found = {}
    for name, call in every_procedure(unkey).items():
        try:
            call()
            found[name] = "success"
        except kind:
            pass
        except Exception as error:
            found[name] = repr(error)
    return found


def main() -> None:
    url, blocked_url = os.environ["SERVICE_URL"], os.environ["BLOCKED_URL"]
    unkey = connect(url, os.environ["ROOT_KEY"])
    drive_keys(unkey, os.environ["MIGRATION_ID"])
    drive_identities(unkey)
    drive_permissions(unkey)
    drive_ratelimit(unkey)
    drive_root_keys(unkey, url)
    drive_analytics(unkey)
    recognise_errors(unkey, url)
    blocked = connect(blocked_url, os.environ["BLOCKED_ROOT_KEY"])
    report = {
        "succeeded": sorted(succeeded),
        "known": sorted(every_procedure(unkey)),
        "unrecognised401": unrecognised(connect(url, "lkr_nobody"), errors.UnauthorizedErrorResponse),
        "unrecognised429": unrecognised(blocked, errors.TooManyRequestsErrorResponse),
        "calls": calls,
    }
    print(json.dumps(report))


main()
