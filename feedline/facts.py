"""What a node says about itself, typed. "Not known" is None, with the reason kept beside it; an empty default would
be a guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Disk:
    """A disk that may be the cache. `local` = reached from /dev/disk/azure/local and not of another model, or by model,
    or the managed disk at the LUN that was declared for it; `node` = has a block node in /dev.

    `signature` is the file system or partition table found on it ("" = blank, None = could not be read); `label` its
    label; `mounted` where it is in use, through a partition, RAID or LVM too ("" = nowhere); `bytes` its size;
    `holder` the device the kernel has built on it (`/dev/md127`), "" = none.
    """

    path: str
    local: bool
    node: bool
    bytes: int
    signature: str | None
    label: str
    mounted: str
    holds_root: bool
    holder: str = ""


@dataclass(frozen=True)
class Nvme:
    """What the NVMe planner needs. `mounted_*` describe what is mounted at /mnt/resource ("" = nothing);
    `mountpoint` is `missing`, `bare` or `protected` (immutable, or of mode 000, while nothing is mounted there);
    `attributes` = the file system below it knows immutable; `unit_current` and `tool_current` say whether the boot
    unit and the copy of this program that it runs are the ones of this bundle. `cache_lun` = the cache is the managed
    disk declared at this LUN, and `disks` holds that disk only; None = the local NVMe disks."""

    disks: tuple[Disk, ...]
    mounted_source: str
    mounted_type: str
    mountpoint: str
    free_bytes: int
    unit_current: bool
    unit_enabled: bool
    tool_current: bool
    bundle: str
    attributes: bool
    cache_lun: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class MountFacts:
    """One BlobFuse2 mount as it is now. `cache_path` is where the *running* daemon caches, read from the
    configuration on its command line; `config_sha256` that file's hash; devices are `major:minor`. `live` = answers
    a stat within seconds. `loaded_config` and `loaded_unit` are the hashes of the files this daemon was started from,
    "" = not known: a file may have been written since. `enabled` = it starts at boot.
    """

    name: str
    path: str
    mounted: bool
    read_only: bool
    live: bool
    main_pid: int | None
    started: str
    unit_active: str
    config_path: str
    config_sha256: str
    cache_path: str | None
    cache_device: str | None
    os_device: str
    boot_id: str
    unit_sha256: str = ""
    mount_id: int | None = None
    loaded_config: str = ""
    loaded_unit: str = ""
    enabled: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return asdict(self)

    @property
    def binding(self) -> dict[str, Any]:
        """What a verdict about this mount is bound to: another boot, daemon or configuration is another mount."""
        return {
            "boot_id": self.boot_id,
            "mount_id": self.mount_id,
            "main_pid": self.main_pid,
            "started": self.started,
            "config_sha256": self.config_sha256,
        }


@dataclass(frozen=True)
class Endpoint:
    """How one storage endpoint looks from the node. `addresses` it resolves to; `tls` = a verified TLS handshake
    succeeded; `clock_offset_s` = the node's clock minus the endpoint's Date header, None when there was none.
    `problem` says what failed.
    """

    url: str
    addresses: tuple[str, ...]
    tls: bool
    clock_offset_s: float | None
    problem: str


@dataclass(frozen=True)
class NodeFacts:
    """Everything `fab doctor` judges. None = not known; why stands in `unknown` under the same name. `raw` is what the
    programs asked said, by command. `root` = the operator's sudo works.
    """

    name: str
    boot_id: str
    kernel: str
    python: str
    cloud_init: str | None
    stage: str | None
    azcopy: str | None
    blobfuse2: str | None
    blobfuse2_is_standin: bool
    vm_id: str | None
    vm_size: str | None
    token: bool | None
    endpoints: tuple[Endpoint, ...]
    gpus: int | None
    nvme_disks: int | None
    nics: int | None
    cores: int
    memory_bytes: int
    fuse: bool
    nftables: bool
    unknown: Mapping[str, str] = field(default_factory=dict)
    fuse_version: str | None = None
    cloud_init_version: str | None = None
    root: bool = False
    raw: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return asdict(self)
