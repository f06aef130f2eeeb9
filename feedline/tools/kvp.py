"""Hyper-V's key-value pool: what the host tells its guest.

Source: Linux tools/hv/hv_kvp_daemon.c (records of a 512-byte key and a 2048-byte value, zero-padded); the host writes
PhysicalHostName into pool 3.
"""

from __future__ import annotations

POOL = "/var/lib/hyperv/.kvp_pool_3"
KEY, VALUE = 512, 2048


def parse(data: bytes) -> dict[str, str]:
    """Given a pool's bytes, return its keys and values; a record that is cut off is left out."""
    found = {}
    for start in range(0, len(data) - KEY - VALUE + 1, KEY + VALUE):
        key, value = data[start : start + KEY], data[start + KEY : start + KEY + VALUE]
        found[_text(key)] = _text(value)
    return found


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")
