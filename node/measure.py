"""Counters around a leg: bytes from the storage endpoints, bytes of a block device; and pages dropped file by file.

Nothing here is machine-wide: the page cache is dropped per file, and the network is counted per endpoint address, so
other work on the node neither suffers nor counts.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from feedline.errors import OperationError

SECTOR_BYTES = 512
"""The kernel's unit in block statistics, whatever the device's own sector size."""

TABLE = "feedline_validate"


@dataclass(frozen=True)
class Snapshot:
    """Counters at one moment, in bytes; `cache_reads` counts the reads that the cache's device completed. `rx` is None
    where the endpoints could not be counted."""

    rx: int | None
    cache_read: int
    os_moved: int
    cache_reads: int = 0


def device_of(path: str) -> str:
    """Given a path, return the block device of its file system as `major:minor`."""
    number = os.stat(path).st_dev
    return f"{os.major(number)}:{os.minor(number)}"


def block_bytes(device: str) -> tuple[int, int]:
    """Given `major:minor`, return the bytes read from and written to that block device since boot.

    Raise OperationError where the kernel keeps no such numbers (an overlay, a tmpfs).
    """
    fields = _block(device)
    return int(fields[2]) * SECTOR_BYTES, int(fields[6]) * SECTOR_BYTES


def block_reads(device: str) -> int:
    """Given `major:minor`, return how many reads that block device completed since boot: what node_exporter shows as
    `node_disk_reads_completed_total`. Raise OperationError where the kernel keeps no such number."""
    return int(_block(device)[0])


def _block(device: str) -> list[str]:
    """The device's counters; see the kernel's Documentation/block/stat.rst."""
    path = Path("/sys/dev/block", device, "stat")
    try:
        return path.read_text().split()
    except FileNotFoundError as error:
        raise OperationError(
            f"no block statistics for device {device}",
            where=str(path),
            hint="the cache must be on a block device; see `fab nvme`",
        ) from error


def addresses_of(endpoints: Iterable[str]) -> tuple[str, ...]:
    """Given https URLs, return every IPv4 address their hosts resolve to on this node."""
    found: set[str] = set()
    for url in endpoints:
        host = urlsplit(url).hostname or ""
        found.update(str(item[4][0]) for item in socket.getaddrinfo(host, 443, socket.AF_INET, socket.SOCK_STREAM))
    return tuple(sorted(found))


class EndpointCounter:
    """Counts what arrives from given addresses, with an nftables table of its own that lives as long as the `with`
    block."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses
        self.problem = ""

    def __enter__(self) -> EndpointCounter:
        self._delete()
        rules = f"""table inet {TABLE} {{
  counter rx {{ }}
  chain input {{
    type filter hook input priority -300; policy accept;
    ip saddr {{ {", ".join(self._addresses)} }} counter name rx
  }}
}}
"""
        try:
            done = subprocess.run(
                ["nft", "-f", "-"], input=rules, text=True, capture_output=True, timeout=20, check=False
            )
            self.problem = done.stderr.strip() if done.returncode else ""
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            self.problem = str(error)
        return self

    def __exit__(self, *_: object) -> None:
        self._delete()

    def rx(self) -> int | None:
        """Return the bytes counted so far, or None where nftables cannot be used."""
        if self.problem:
            return None
        done = subprocess.run(
            ["nft", "-j", "list", "counter", "inet", TABLE, "rx"],
            text=True,
            capture_output=True,
            timeout=20,
            check=False,
        )
        if done.returncode:
            return None
        for item in json.loads(done.stdout)["nftables"]:
            if "counter" in item:
                return int(item["counter"]["bytes"])
        return None

    @staticmethod
    def _delete() -> None:
        try:
            subprocess.run(["nft", "delete", "table", "inet", TABLE], capture_output=True, timeout=20, check=False)
        except (FileNotFoundError, subprocess.TimeoutExpired):
            return  # without nft there is no table either


def snapshot(counter: EndpointCounter, cache_device: str, os_device: str) -> Snapshot:
    """Given the endpoint counter and the two devices, return all counters now."""
    os_read, os_written = block_bytes(os_device)
    cache_read, cache_reads = block_bytes(cache_device)[0], block_reads(cache_device)
    return Snapshot(counter.rx(), cache_read, os_read + os_written, cache_reads)


def drop_pages(paths: Iterable[str]) -> int:
    """Given files, write back and drop their pages from the page cache, and return how many files were treated.

    `posix_fadvise(DONTNEED)` only drops clean pages, hence the fdatasync first (of the cache file; a read-only mount
    refuses it).
    """
    count = 0
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            try:
                os.fdatasync(descriptor)
            except OSError:
                pass  # nothing dirty can be behind a read-only FUSE file
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            count += 1
        finally:
            os.close(descriptor)
    return count


def sync_file_system(path: str) -> None:
    """Given a path, write back everything dirty on its file system only (syncfs; os.sync would flush the whole
    machine)."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if libc.syncfs(descriptor):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    finally:
        os.close(descriptor)
