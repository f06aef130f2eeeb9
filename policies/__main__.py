"""The policy pack: `pulumi preview --policy-pack policies`. PolicyPack() serves until the engine ends, so it comes
last."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Pulumi starts the pack inside its own folder

from pulumi_policy import PolicyPack

from policies.pack import policies

PolicyPack("feedline", policies())
