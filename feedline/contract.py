"""Contract v1: what `pulumi up` made, as the one JSON document the runbook reads. `infra` and `scripts` meet only
here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from feedline.errors import OperationError
from feedline.schema import build

VERSION = 1


@dataclass(frozen=True)
class Account:
    """A storage account. `protocol` is the data protocol to use (`blob`, or `dfs`); endpoints are https URLs without
    slash."""

    name: str
    resource_id: str
    hns: bool
    protocol: str
    blob_endpoint: str
    dfs_endpoint: str
    classification: str
    containers: tuple[str, ...]


@dataclass(frozen=True)
class Grant:
    """What an identity may do in a container: `read`, `write` (read, add, change, delete) or `append` (read, add, no
    delete)."""

    account: str
    container: str
    access: str


@dataclass(frozen=True)
class Identity:
    """A user-assigned managed identity and what it was granted - everything else must be refused."""

    name: str
    client_id: str
    principal_id: str
    resource_id: str
    grants: tuple[Grant, ...]


@dataclass(frozen=True)
class Node:
    """A VM. `role` is `train` or `ingest`, `identity` the managed identity it works as, `vm_id` Azure's unique VM id.

    `nvme_disks` is how many local NVMe disks it must show (None: as the catalogue says), `cache_lun` the LUN of the
    managed disk that is its cache instead (None: the local NVMe).
    """

    name: str
    role: str
    identity: str
    address: str
    size: str
    resource_id: str
    vm_id: str
    nvme_disks: int | None = None
    cache_lun: int | None = None


@dataclass(frozen=True)
class ScaleSet:
    """A Uniform scale set whose instances are nodes of `role`, found by ARM after `up`. `prefix` begins their names."""

    name: str
    resource_id: str
    role: str
    identity: str
    size: str
    prefix: str
    nvme_disks: int | None = None
    cache_lun: int | None = None


@dataclass(frozen=True)
class Ssh:
    """How to get in. `via` is `direct` (VPN), `jump` (ProxyJump through `jump`) or `command` (a ProxyCommand, `%h
    %p`)."""

    user: str
    via: str
    jump: str | None
    command: str | None


@dataclass(frozen=True)
class Mount:
    """A BlobFuse2 mount on every node of `role`. `mode` is `preload` or `file_cache`; `cache` is on the local NVMe.
    `replicas` are further accounts that hold a copy of the container."""

    name: str
    path: str
    account: str
    container: str
    identity: str
    role: str
    read_only: bool
    mode: str
    cache: str
    replicas: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workload:
    """What the GPUs eat, as MLPerf Storage counts it: one step = `batch` records of `record_bytes`, then `compute_s`
    of work.

    Demand per accelerator = record_bytes * batch / compute_s bytes/s. `au_target` is the least accelerator
    utilisation (0..1). `loaders` is the number of reader threads per accelerator. `source` says where the numbers
    come from.
    """

    name: str
    record_bytes: int
    batch: int
    compute_s: float
    accelerators: int
    au_target: float
    headroom: float
    loaders: int
    dataset: str
    dataset_bytes: int
    source: str

    @property
    def demand_bytes_per_s(self) -> float:
        """What one node's accelerators consume at full utilisation, in bytes/s."""
        return self.record_bytes * self.batch / self.compute_s * self.accelerators

    @property
    def required_bytes_per_s(self) -> float:
        """What the storage must be able to supply per node: demand * AU target * headroom, in bytes/s."""
        return self.demand_bytes_per_s * self.au_target * self.headroom


@dataclass(frozen=True)
class Contract:
    """The whole cluster, as the runbook sees it. `feed_plan` is the plan computed in preview (JSON values),
    `lustre` what a node mounts of Azure Managed Lustre (`ADDRESS@tcp:/lustrefs`)."""

    version: int
    environment: str
    cloud: str
    cluster: str
    location: str
    subscription_id: str
    accounts: tuple[Account, ...]
    identities: tuple[Identity, ...]
    nodes: tuple[Node, ...]
    ssh: Ssh
    mounts: tuple[Mount, ...]
    workload: Workload
    feed_plan: Mapping[str, Any]
    scale_sets: tuple[ScaleSet, ...] = ()
    lustre: str | None = None

    def node(self, name: str) -> Node:
        """Given a node's name, return it. Raise OperationError naming the nodes there are."""
        return _named(self.nodes, name, "node")

    def identity(self, name: str) -> Identity:
        """Given an identity's name, return it. Raise OperationError naming the identities there are."""
        return _named(self.identities, name, "identity")

    def account(self, name: str) -> Account:
        """Given an account's name, return it. Raise OperationError naming the accounts there are."""
        return _named(self.accounts, name, "account")

    def mounts_of(self, node: Node) -> tuple[Mount, ...]:
        """Given a node, return the mounts its role carries. Where copies of the data exist, nodes are dealt to the
        accounts in turn, by their place among the nodes of their role."""
        place = [n.name for n in self.nodes if n.role == node.role].index(node.name)
        return tuple(_dealt(mount, place) for mount in self.mounts if mount.role == node.role)

    @property
    def is_sandbox(self) -> bool:
        """Whether Azure's services are simulated: everything derived from this contract carries the watermark."""
        return self.cloud == "sandbox"

    def as_dict(self) -> dict[str, Any]:
        """Return the contract as JSON values."""
        return asdict(self)

    @classmethod
    def parse(cls, raw: Mapping[str, Any], *, where: str = "contract") -> Contract:
        """Given JSON values, return the contract. Raise OperationError with every problem; a field is never guessed."""
        version = raw.get("version")
        if version != VERSION:
            raise OperationError(
                f"contract version {version!r}, this runbook reads version {VERSION}",
                where=where,
                hint="run `pulumi up` with the same release of Feedline as the runbook, then try again",
            )
        problems: list[str] = []
        contract = build(cls, raw, problems)
        if problems:
            raise OperationError(
                "\n".join([f"{len(problems)} problems:", *(f"  - {p}" for p in problems)]),
                where=where,
                hint="the contract is written by `pulumi up`; export it again instead of editing it",
            )
        assert isinstance(contract, cls)
        return contract

    @classmethod
    def loads(cls, text: str, *, where: str = "contract") -> Contract:
        """Given JSON text, return the contract. Raise OperationError if it is not one."""
        try:
            raw = json.loads(text)
        except json.JSONDecodeError as error:
            raise OperationError(
                f"not JSON: {error}", where=where, hint="export it with `pulumi stack output contract`"
            ) from error
        if not isinstance(raw, dict):
            raise OperationError("not a JSON object", where=where, hint="export it with `pulumi stack output contract`")
        return cls.parse(raw, where=where)


def _dealt(mount: Mount, place: int) -> Mount:
    accounts = (mount.account, *mount.replicas)
    return replace(mount, account=accounts[place % len(accounts)])


def _named(items: tuple[Any, ...], name: str, kind: str) -> Any:
    for item in items:
        if item.name == name:
            return item
    raise OperationError(
        f"no {kind} named {name!r} in the contract", hint=f"there are: {', '.join(i.name for i in items)}"
    )
