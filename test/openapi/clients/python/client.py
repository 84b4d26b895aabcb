"""A client that openapi-python-client made of openapi.json, run against a service.

SERVICE_URL and ROOT_KEY are in the environment, the package `latchkey_client` on the path. Prints, as JSON, the code of a
verification and the type of an error.
"""

import json
import os

from latchkey_client import AuthenticatedClient
from latchkey_client.api.apis import apis_create_api
from latchkey_client.api.keys import keys_create_key, keys_get_key, keys_update_key, keys_verify_key
from latchkey_client.api.ratelimit import ratelimit_multi_limit
from latchkey_client.models import (
    CreateApiRequest,
    CreateKeyCredits,
    CreateKeyRequest,
    CreateKeyResponse,
    Error,
    GetKeyRequest,
    MultiLimitEntry,
    RefillInput,
    UpdateKeyRequest,
    VerifyKeyCredits,
    VerifyKeyRequest,
)
from latchkey_client.models.refill_input_interval_type_0 import RefillInputIntervalType0 as Interval

with AuthenticatedClient(base_url=os.environ["SERVICE_URL"], token=os.environ["ROOT_KEY"]) as client:
    api_id = apis_create_api.sync(client=client, body=CreateApiRequest(name="python")).data.api_id
    refill = RefillInput(interval=Interval.MONTHLY, amount=10, refill_day=1)
    request = CreateKeyRequest(api_id=api_id, credits_=CreateKeyCredits(remaining=10, refill=refill))
    issued = keys_create_key.sync(client=client, body=request, idempotency_key="of-the-python-client")
    assert isinstance(issued, CreateKeyResponse), issued
    key_id, key = issued.data.key_id, issued.data.key
    # None is null, and what is not given is left out.
    keys_update_key.sync(client=client, body=UpdateKeyRequest(key_id=key_id, name=None))
    verified = keys_verify_key.sync(client=client, body=VerifyKeyRequest(key=key, credits_=VerifyKeyCredits(cost=3)))
    missing = keys_get_key.sync(client=client, body=GetKeyRequest(key_id="key_nothing"))
    assert isinstance(missing, Error), missing
    entry = MultiLimitEntry(namespace="openapi", identifier="user_of_python", limit=1, duration=60_000)
    limits = ratelimit_multi_limit.sync(client=client, body=[entry])
    read = keys_get_key.sync_detailed(client=client, body=GetKeyRequest(key_id=key_id))
    print(
        json.dumps(
            {
                "code": verified.data.code.value,
                "credits": verified.data.credits_,
                "type": missing.error.type_.split("/errors/")[1],
                "passed": limits.data.passed,
                "etag": "etag" in read.headers,
            }
        )
    )
