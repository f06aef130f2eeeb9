"""Shadow data: storage accounts, and copies of data sets, outside the places that were approved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from feedline.contract import Contract
from feedline.names import CONTAINERS
from feedline.verdict import Status, Verdict


def judge(
    contract: Contract, accounts: Sequence[Mapping[str, Any]], containers: Mapping[str, Iterable[str]]
) -> list[Verdict]:
    """Given the subscription's storage accounts as ARM lists them, and the names of each one's containers by account,
    judge every account.

    Approved are the contract's accounts and whatever lies in the cluster's own groups. An account elsewhere is a
    finding; one that has a container named like one of the lake's, or like the data set, is a likely copy. What is
    inside cannot be seen from here (the data plane is closed), and is said so.
    """
    ours = {account.resource_id.lower() for account in contract.accounts}
    groups = tuple(f"/resourcegroups/rg-{contract.cluster}{tail}/" for tail in ("", "-lake", "-hot"))
    suspicious = {*CONTAINERS, contract.workload.dataset}
    found = []
    for account in sorted(accounts, key=lambda one: str(one["name"])):
        rid, name = str(account["id"]).lower(), str(account["name"])
        if rid in ours or any(group in rid for group in groups):
            found.append(Verdict("shadow", "account", name, Status.PASS, "OK", f"{name} is the cluster's own"))
            continue
        copies = sorted(suspicious & set(containers.get(name, ())))
        where = f"{name} in {account.get('location', 'an unknown region')} ({account['id'].split('/')[4]})"
        owner = (account.get("tags") or {}).get("feedline")
        told = f", of cluster {owner}" if owner else ""
        if copies:
            text = f"{where}{told} has containers like the lake's: {', '.join(copies)}"
            hint = "whose is it? Delete the copy, or bring its account into the cluster (lake.replicas)"
            found.append(Verdict("shadow", "copy", name, Status.FAIL, "LIKELY_COPY", text, hint))
        else:
            hint = "if it is another team's, its owner should tag it; it holds no container named like the lake's"
            found.append(Verdict("shadow", "account", name, Status.WARN, "OUTSIDE", f"{where}{told}", hint))
    text = "what the blobs of these accounts are: their data plane is closed to whoever asks from here"
    found.append(
        Verdict("shadow", "content", "blobs", Status.NOT_MEASURED, "NOT_ASKED", text, "docs/runbooks/cluster.md")
    )
    return found
