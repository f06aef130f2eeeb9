"""nvidia-smi: how many GPUs the driver sees."""

from __future__ import annotations

import re

LIST = ("nvidia-smi", "-L")


def count(out: str) -> int:
    """Given what `LIST` printed, return the number of GPUs; MIG instances are indented and do not count."""
    return len(re.findall(r"^GPU \d+:", out, re.MULTILINE))
