"""The steps that end machines: what is run, what it destroys, and by which name Pulumi knows it."""

from dataclasses import replace

from feedline.contract import Contract
from feedline.plans.cluster import MOVES, destroying, replacing
from tests.shared.small_cluster import CONTRACT

GPU = Contract.parse(CONTRACT).node("gpu-1")
INSTANCE = replace(
    GPU, resource_id="/subscriptions/s/…/Microsoft.Compute/virtualMachineScaleSets/gpu/virtualMachines/3"
)


def test_a_machine_of_its_own_is_replaced_by_pulumi_and_nothing_else_is() -> None:
    (step,) = replacing("prod", GPU, "2024-11-01")
    assert step.argv[:6] == ("pulumi", "up", "--stack", "prod", "--target-replace", step.argv[5])
    assert step.argv[5].startswith("urn:pulumi:prod::feedline::") and step.argv[5].endswith("::gpu-1")
    assert step.destroys == "gpu-1"


def test_an_instance_is_moved_to_another_host_before_it_is_made_anew() -> None:
    steps = replacing("prod", INSTANCE, "2024-11-01")
    assert MOVES == ("redeploy", "reimage")  # reimage alone would leave it on the bad host
    assert [step.argv[-1].rsplit("/", 1)[1].split("?")[0] for step in steps] == list(MOVES)
    assert all("?api-version=2024-11-01" in step.argv[-1] for step in steps) and steps[0].destroys == "gpu-1"


def test_a_destroy_stops_at_what_is_protected_and_asks_by_name() -> None:
    step = destroying("dev")
    assert "--exclude-protected" in step.argv and step.destroys == "cluster dev"
