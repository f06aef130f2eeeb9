"""The same by hand: shell lines (az, azcopy, blobfuse2, mdadm, nvidia-smi, iostat) for every gate and every plan.

What needs root on a node, what Azure should refuse, and what a person has to fill in (`${NAME:?…}`, which stops a shell
that does not know it) is said in the lines. No line holds a secret: identities log in as themselves.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from feedline.catalog.nd_series import SIZES
from feedline.contract import Contract, Mount, Node
from feedline.errors import OperationError
from feedline.facts import Disk, Nvme
from feedline.names import CONFIG_FOLDER, LOG_FOLDER, mount_config
from feedline.plan import Plan, Step
from feedline.plans.access import PROBE_FOLDER, probes
from feedline.plans.cache import cache_share
from feedline.plans.nvme import disk_steps
from feedline.render.blobfuse2_yaml import render
from feedline.render.commands_azure import infra
from feedline.tools.azcopy import copy_argv, environment

OURS = "feedline"
"""First word of a step that is work of the node program itself, and has no command of anybody else."""


@dataclass(frozen=True)
class Asked:
    """What was asked for: the nodes, and a task's own options (`source`, `dataset`, `account`, `cap_mbps`)."""

    contract: Contract
    nodes: tuple[Node, ...]
    options: Mapping[str, Any]


def of_plan(plan: Plan) -> list[str]:
    """Given a plan, return its steps as lines for a root shell: a command prints itself, a file or a folder is an
    `install`. A step of the node program is a comment, which says what it does."""
    return [_step(step) for step in plan.steps]


def equivalent(
    contract: Contract, gate: str, nodes: Sequence[Node], options: Mapping[str, Any] | None = None
) -> list[str]:
    """Given a contract, a gate's name (or `infra`: accounts, containers, role assignments), the nodes and the task's
    options, return the lines. Those of a node stand below a comment with its name; nodes with the same lines share it.

    Raise OperationError for a gate that has none, or where a node's local disks are not known.
    """
    if gate == "infra":
        return infra(contract)
    if gate not in _ON_NODES:
        raise OperationError(f"no commands are known for {gate!r}", hint=f"there are: infra, {', '.join(_ON_NODES)}")
    asked = Asked(contract, tuple(nodes), options or {})
    same: dict[tuple[str, ...], list[str]] = {}
    for node in nodes:
        same.setdefault(tuple(_ON_NODES[gate](asked, node)), []).append(node.name)
    found: list[str] = []
    for lines, names in same.items():
        found += [f"# {gate}, as root on {', '.join(names)}:", *lines]
    return found


def _step(step: Step) -> str:
    if step.argv and step.argv[0] == OURS:
        return f"# {shlex.join(step.argv)}   (no tool of its own: {step.why})"
    if step.argv:
        return shlex.join(step.argv)
    user, _, group = step.owner.partition(":")
    how = f"-m {step.mode:03o} -o {user} -g {group or user}"
    if step.content is None:
        return f"install -d {how} {shlex.quote(step.path)}"
    end = "EOF"
    while end in step.content.splitlines():
        end += "_"
    text = step.content if step.content.endswith("\n") else f"{step.content}\n"
    return f"install {how} /dev/stdin {shlex.quote(step.path)} <<'{end}'\n{text}{end}"


def _doctor(asked: Asked, node: Node) -> list[str]:
    hosts = sorted({account.blob_endpoint.split("//")[-1] for account in asked.contract.accounts})
    gpus = ["nvidia-smi -L"] if node.role == "train" else []
    return [
        "cloud-init status --long",
        "timedatectl show --property=NTPSynchronized",
        *(shlex.join(("getent", "ahosts", host)) for host in hosts),
        "lsblk --output NAME,MODEL,SIZE,FSTYPE,LABEL,MOUNTPOINTS",
        *gpus,
        "blobfuse2 --version" if node.role == "train" else "azcopy --version",
    ]


def _access(asked: Asked, node: Node) -> list[str]:
    identity = asked.contract.identity(node.identity)
    lines = [shlex.join(("az", "login", "--identity", "--client-id", identity.client_id))]
    for probe in probes(asked.contract, identity):
        verb = {"list": "list", "write": "upload", "delete": "delete"}[probe.operation]
        argv = ["az", "storage", "blob", verb, "--auth-mode", "login", "--account-name", probe.account]
        argv += ["--container-name", probe.container]
        name = f"{PROBE_FOLDER}/by-hand"
        argv += {
            "list": ["--num-results", "1"],
            "write": ["--name", name, "--data", "probe", "--overwrite"],
            "delete": ["--name", name],
        }[probe.operation]
        lines.append(
            shlex.join(argv) + ("" if probe.allowed else "   # must be refused: AuthorizationPermissionMismatch")
        )
    return lines


def _ingest(asked: Asked, node: Node) -> list[str]:
    contract, options = asked.contract, asked.options
    mount = next((m for m in contract.mounts if m.role == "train" and m.read_only), None)
    if mount is None:
        raise OperationError("the contract has no mount of a data set", where="contract", hint="run `pulumi up` again")
    account = contract.account(str(options.get("account") or mount.account))
    dataset = str(options.get("dataset") or contract.workload.dataset)
    source = str(options.get("source") or "")
    destination = f"{account.blob_endpoint}/{mount.container}/{dataset}"
    # Answers for a program to read, and a way to stop it through a pipe, are of no use to a person.
    ours = ("--output-type=json", "--cancel-from-stdin")
    argv = copy_argv(
        "azcopy", source or "SOURCE", destination, overwrite="true", cap_mbps=float(options.get("cap_mbps") or 0)
    )
    line = shlex.join(word for word in argv if word not in ours)
    if not source:
        line = line.replace(" SOURCE ", ' "${SOURCE:?a folder on the ingest node}" ', 1)
    login = environment(contract.identity(node.identity).client_id, "")
    exported = (
        f"export {name}={shlex.quote(login[name])}" for name in ("AZCOPY_AUTO_LOGIN_TYPE", "AZCOPY_MSI_CLIENT_ID")
    )
    return [*exported, line, shlex.join(("azcopy", "list", destination, "--running-tally", "--machine-readable"))]


def _nvme(asked: Asked, node: Node) -> list[str]:
    if node.cache_lun is not None:
        disks = [Disk(f"/dev/disk/azure/data/by-lun/{node.cache_lun}", True, True, 1 << 40, "", "", "", False)]
    else:
        size = SIZES.get(node.size)
        count = node.nvme_disks if node.nvme_disks is not None else size.nvme_count if size else 0
        if not count:
            raise OperationError(
                f"{node.size} is not in the catalogue: its local disks are not known",
                where=node.name,
                hint="`fab nvme --commands --dry-run` asks the node",
            )
        each = size.nvme_bytes if size else 1 << 40
        disks = [Disk(f"/dev/nvme{n}n1", True, True, each, "", "", "", False) for n in range(count)]
    blank = Nvme(tuple(disks), "", "", "missing", 0, True, True, True, "", True)
    return [
        "# for blank disks by these names; `--dry-run` prints what this node needs",
        *of_plan(Plan(tuple(disk_steps(blank)))),
    ]


def _cache(asked: Asked, node: Node) -> list[str]:
    contract, mounts = asked.contract, asked.contract.mounts_of(node)
    steps = [Step.folder(folder, "") for folder in (CONFIG_FOLDER, LOG_FOLDER)]
    for mount in mounts:
        steps += [
            Step.folder(mount.path, ""),
            Step.folder(mount.cache, ""),
            Step.write(mount_config(mount.name), _config(contract, node, mount, mounts), "", mode=0o600),
            Step.run(("blobfuse2", "mount", mount.path, f"--config-file={mount_config(mount.name)}"), ""),
        ]
    return of_plan(Plan(tuple(steps)))


def _config(contract: Contract, node: Node, mount: Mount, mounts: Sequence[Mount]) -> str:
    size = SIZES.get(node.size)
    disk = size.nvme_total_bytes if size else 0
    share = cache_share(mounts, disk_bytes=disk, dataset_bytes=contract.workload.dataset_bytes)
    account, identity = contract.account(mount.account), contract.identity(mount.identity)
    return render(mount, account, identity, disk_bytes=share, cores=size.vcpus if size else 1)


def _validate(asked: Asked, node: Node) -> list[str]:
    mounts = [mount for mount in asked.contract.mounts_of(node) if mount.read_only]
    reads = [
        "find " + shlex.quote(f"{mount.path}/{asked.contract.workload.dataset}") + " -type f -exec cat {} + > /dev/null"
        for mount in mounts
    ]
    watching = ["iostat -x -y 5 > iostat.log &", "nvidia-smi dmon -s um -d 5 > nvidia-smi.log &"]
    return [*watching, *reads, "kill %1 %2"]


_ON_NODES: Mapping[str, Callable[[Asked, Node], list[str]]] = {
    "doctor": _doctor,
    "access": _access,
    "ingest": _ingest,
    "nvme": _nvme,
    "cache": _cache,
    "validate": _validate,
}
