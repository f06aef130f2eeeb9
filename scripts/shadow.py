"""What `cluster.shadow` does: ARM tells accounts and containers; whether a container holds our seal is asked of the
account itself, as whoever is logged in with `az`, where it lets us in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from feedline.contract import Contract
from feedline.errors import OperationError
from feedline.verdicts.shadow import Seen, judge, outside, seals
from scripts.arguments import Arguments
from scripts.arm import Arm
from scripts.cloud import STORAGE, show
from scripts.inventory import read

CONNECT_S, READ_S = 5, 10
Look = Callable[[str, str, str], bool | None]
"""Given an account's blob endpoint, a container and a blob, say whether it is there, or None where nobody may know."""


def look(arguments: Arguments) -> int:
    """Given the options, list the subscription's storage accounts and judge them. Return 0, or 2 for any outside."""
    contract = read(arguments)
    arm = Arm.of(contract)
    accounts = list(arm.list(f"/subscriptions/{contract.subscription_id}/providers/{STORAGE}"))
    # The sandbox's data plane is inside its nodes' network, where the operator's machine is not.
    found = seen(contract, arm, outside(contract, accounts), None if contract.is_sandbox else blob_there())
    return show(
        judge(contract, accounts, found), as_json=arguments.json, what="cluster.shadow", cluster=contract.cluster
    )


def seen(contract: Contract, arm: Arm, accounts: Iterable[Mapping[str, Any]], there: Look | None) -> dict[str, Seen]:
    """Given accounts outside and how to look for a blob (None: not from here), return what can be seen of each."""
    found = {}
    for account in accounts:
        try:
            listed = arm.list(f"{account['id']}/blobServices/default/containers")
            names = tuple(str(one["name"]) for one in listed)
        except OperationError as error:
            found[str(account["name"])] = Seen(None, why_not=error.what)
            continue
        endpoint = (account.get("properties") or {}).get("primaryEndpoints", {}).get("blob", "")
        if there is None or not endpoint:
            found[str(account["name"])] = Seen(names, why_not="its data plane cannot be asked from here")
            continue
        answers = {f"{name}/{blob}": there(endpoint, name, blob) for name in names for blob in seals(contract)}
        places = tuple(place for place, answer in answers.items() if answer)
        found[str(account["name"])] = Seen(names, places, looked=None not in answers.values())
    return found


def blob_there(credential: Any = None) -> Look:
    """Return how to look for a blob: one HEAD request, no retries, as the login of the Azure CLI."""
    from azure.core.exceptions import AzureError, ResourceNotFoundError
    from azure.identity import AzureCliCredential
    from azure.storage.blob import BlobClient

    credential = credential or AzureCliCredential()

    def there(endpoint: str, container: str, blob: str) -> bool | None:
        limits: dict[str, Any] = {"retry_total": 0, "connection_timeout": CONNECT_S, "read_timeout": READ_S}
        with BlobClient(endpoint, container, blob, credential=credential, **limits) as client:
            try:
                client.get_blob_properties()
            except ResourceNotFoundError:
                return False
            except AzureError:
                return None
        return True

    return there
