"""`fab --list` shows the runbook; its tasks live in scripts/."""

from scripts import ns  # noqa: F401
