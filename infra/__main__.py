"""The Pulumi program: `pulumi up` starts it here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Pulumi starts the program inside its own folder

import pulumi

from feedline.errors import FeedlineError
from infra.program import declare
from infra.quick import leave_out_old_types

leave_out_old_types()
try:
    declare()
except FeedlineError as error:
    pulumi.log.error(str(error))
    sys.exit(32)  # the code by which Pulumi knows that the error was shown already
