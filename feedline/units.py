"""Numbers as people read them. Inside the product bytes are bytes and seconds are seconds; these are for terminals."""

from __future__ import annotations

KB, MB, GB, TB = 10**3, 10**6, 10**9, 10**12
KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40


def human_bytes(count: float) -> str:
    """Given a number of bytes, return it in decimal units, as storage and network vendors count: `1.86 GB`."""
    for size, unit in ((TB, "TB"), (GB, "GB"), (MB, "MB"), (KB, "kB")):
        if abs(count) >= size:
            value = count / size
            return (
                f"{value:.0f} {unit}"
                if value >= 100
                else f"{value:.1f} {unit}"
                if value >= 10
                else f"{value:.2f} {unit}"
            )
    return f"{count:.0f} B"


def human_rate(bytes_per_second: float) -> str:
    """Given a rate in bytes per second, return it as `1.86 GB/s`."""
    return f"{human_bytes(bytes_per_second)}/s"


def human_seconds(seconds: float) -> str:
    """Given a duration in seconds, return it as `3h 12m`, `4m 05s`, `12.3 s` or `85 ms`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02d}m"


def human_percent(fraction: float) -> str:
    """Given a fraction (0..1), return it as `92.4 %`."""
    return f"{fraction * 100:.1f} %"
