"""Three things that break in a cluster's life: each is caught by its gate with the right words, and gone afterwards."""

from dataclasses import replace

import pytest

from scripts.arguments import Arguments
from scripts.rehearsal import faults

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("name", ["identity-without-role", "ingest-loses-blob", "cache-on-os-disk"])
def test_a_fault_turns_into_its_verdict_and_is_gone_when_reverted(handed_off, name):
    assert faults.rehearse(name, faults.FAULTS[name], Arguments(stack="sandbox", yes=True), handed_off.stages())


def test_a_fault_that_no_gate_notices_is_not_called_caught(handed_off):
    """The same injection, judged by a verdict that nothing gives: the rehearsal has to say NOT CAUGHT."""
    never = replace(faults.FAULTS["ingest-loses-blob"], reason="NEVER_SAID")
    assert not faults.rehearse("ingest-loses-blob", never, Arguments(stack="sandbox", yes=True), handed_off.stages())
