"""cloud-init: how the first boot ended."""

from __future__ import annotations

import re

STATUS = ("cloud-init", "status", "--long")


def status(out: str) -> str | None:
    """Given what `STATUS` printed, return `done`, `running`, `error`, … or None when it does not say.

    Newer releases (23.4 on) say `done` although modules failed, and `degraded done` as extended status: that is
    returned.
    """
    found = re.search(r"^extended_status: (.+)$", out, re.MULTILINE) or re.search(r"^status: (\S+)", out, re.MULTILINE)
    return found[1].strip() if found else None
