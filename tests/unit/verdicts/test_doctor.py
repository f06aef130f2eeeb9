"""Doctor judges facts: what is not known never passes."""

from dataclasses import replace

from feedline.contract import Contract, Identity, Node, Ssh, Workload
from feedline.facts import Endpoint, NodeFacts
from feedline.verdict import Status, Verdict
from feedline.verdicts.doctor import judge

SIZE = "Standard_ND96isr_H100_v5"
NODE = Node("gpu-0", "train", "train", "10.0.1.10", SIZE, "/id", "vm-1")
WORK = Workload("w", 1, 1, 0.1, 8, 0.9, 1.2, 2, "v1", 1, "test")
AZURE = Contract(
    1,
    "prod",
    "AzureCloud",
    "c",
    "l",
    "s",
    (),
    (Identity("train", "c", "p", "/i", ()),),
    (NODE,),
    Ssh("u", "direct", None, None),
    (),
    WORK,
    {},
)
SANDBOX = replace(AZURE, cloud="sandbox")
BLOB = Endpoint("https://acct.blob.core.windows.net", ("10.0.2.4",), True, 0.4, "")
FACTS = NodeFacts(
    "gpu-0",
    "boot",
    "6.1",
    "3.11.2",
    "done",
    "complete",
    "10.32.2",
    "2.5.6",
    False,
    "vm-1",
    SIZE,
    True,
    (BLOB,),
    8,
    8,
    1,
    96,
    2040 * 10**9,
    True,
    True,
    root=True,
)


def verdicts(contract: Contract = AZURE, **changes: object) -> dict[str, Verdict]:
    return {v.check: v for v in judge(contract, NODE, replace(FACTS, **changes))}  # type: ignore[arg-type]


def test_a_node_as_it_should_be_passes_every_line() -> None:
    assert {v.status for v in verdicts().values()} == {Status.PASS}


def test_simulated_hardware_is_not_measured_and_says_so() -> None:
    found = verdicts(SANDBOX)
    assert found["GPUs"].status is Status.NOT_MEASURED and found["GPUs"].evidence == {"simulated": True}


def test_a_lost_gpu_fails() -> None:
    assert verdicts(gpus=7)["GPUs"].reason == "WRONG_COUNT"


def test_gpus_that_could_not_be_counted_fail() -> None:
    assert verdicts(gpus=None)["GPUs"].status is Status.FAIL


def test_another_machine_than_the_contracts_is_refused() -> None:
    assert verdicts(vm_id="vm-2")["machine"].reason == "WRONG_NODE"


def test_a_contract_without_a_vm_id_is_not_measured_unless_the_size_is_wrong() -> None:
    node = replace(NODE, vm_id="")
    found, other = (
        next(v for v in judge(AZURE, node, replace(FACTS, vm_size=size)) if v.check == "machine")
        for size in (SIZE, "Standard_D8s_v5")
    )
    assert (found.status, found.reason) == (Status.NOT_MEASURED, "UNKNOWN") and found.hint
    assert (other.status, other.reason) == (Status.FAIL, "WRONG_NODE")


def test_a_silent_metadata_service_is_not_a_pass() -> None:
    assert verdicts(vm_id=None)["machine"].reason == "NO_METADATA"


def test_a_first_boot_that_stopped_names_the_stage() -> None:
    verdict = verdicts(stage="sources")["first boot"]
    assert verdict.status is Status.FAIL and "sources" in verdict.message


def test_an_endpoint_that_resolves_to_a_public_address_fails() -> None:
    found = verdicts(endpoints=(replace(BLOB, addresses=("20.60.1.1",)),))
    assert found["endpoint blob"].reason == "PUBLIC_ADDRESS"


def test_an_endpoint_without_a_name_or_without_tls_fails() -> None:
    assert (
        verdicts(endpoints=(replace(BLOB, addresses=(), tls=False, problem="no such host"),))["endpoint blob"].reason
        == "NO_NAME"
    )
    assert (
        verdicts(endpoints=(replace(BLOB, tls=False, problem="certificate"),))["endpoint blob"].reason
        == "NO_CONNECTION"
    )


def test_a_clock_that_is_off_warns_and_then_fails() -> None:
    assert verdicts(endpoints=(replace(BLOB, clock_offset_s=-31.0),))["clock"].status is Status.WARN
    assert verdicts(endpoints=(replace(BLOB, clock_offset_s=241.0),))["clock"].status is Status.FAIL


def test_a_clock_nobody_told_is_not_measured() -> None:
    assert verdicts(endpoints=(replace(BLOB, clock_offset_s=None),))["clock"].status is Status.NOT_MEASURED


def test_old_and_missing_tools_fail() -> None:
    assert verdicts(azcopy="10.22.0")["AzCopy"].reason == "TOO_OLD"
    assert verdicts(blobfuse2=None)["BlobFuse2"].reason == "MISSING"


def test_the_stand_in_is_named() -> None:
    assert "stand-in" in verdicts(blobfuse2_is_standin=True)["BlobFuse2"].message


def test_a_first_boot_whose_parts_failed_warns() -> None:
    assert verdicts(cloud_init="degraded done")["cloud-init"].reason == "FIRST_BOOT_DEGRADED"
    assert verdicts(cloud_init="error - done")["cloud-init"].status is Status.FAIL
    assert verdicts(cloud_init=None)["cloud-init"].status is Status.NOT_MEASURED


def test_without_root_nothing_can_be_done_there() -> None:
    assert verdicts(root=False)["sudo"].reason == "NO_ROOT"


def test_disks_that_could_not_be_counted_say_why_and_not_what_the_gpus_said() -> None:
    found = verdicts(nvme_disks=None, unknown={"nvme_disks": "no /sys", "gpus": "driver"})["NVMe disks"]
    assert found.status is Status.FAIL and "no /sys" in found.message and "driver" not in found.message


def test_a_size_nobody_knows_is_not_measured_and_never_silent() -> None:
    node = replace(NODE, size="Standard_ND999")
    found = {v.check: v for v in judge(AZURE, node, replace(FACTS, vm_size="Standard_ND999"))}
    assert (found["hardware"].status, found["hardware"].reason) == (Status.NOT_MEASURED, "UNKNOWN_SIZE")


def test_an_ingest_node_of_any_size_has_no_hardware_to_compare() -> None:
    node = replace(NODE, role="ingest", size="Standard_D4s_v5")
    checks = {v.check for v in judge(AZURE, node, replace(FACTS, vm_size="Standard_D4s_v5"))}
    assert "hardware" not in checks and "GPUs" not in checks


def test_the_address_range_of_carriers_is_private_and_documentation_ranges_are_not() -> None:
    assert verdicts(endpoints=(replace(BLOB, addresses=("100.64.0.4",)),))["endpoint blob"].status is Status.PASS
    assert verdicts(endpoints=(replace(BLOB, addresses=("203.0.113.10",)),))["endpoint blob"].reason == "PUBLIC_ADDRESS"
