"""The same by hand: lines that a shell reads, that say what our tasks do, and that hold no secret."""

import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from feedline.access import GRANTS
from feedline.contract import Contract
from feedline.errors import OperationError
from feedline.plan import Plan, Step
from feedline.render.commands import equivalent, of_plan

CONTRACT = Contract.loads((Path(__file__).parents[2] / "fixtures" / "contract-sandbox.json").read_text())
ALL = ("infra", "doctor", "access", "ingest", "nvme", "cache", "validate")
ROLES = {"ingest": ("ingest",), "nvme": ("train",), "cache": ("train",), "validate": ("train",)}


def lines(gate: str, contract: Contract = CONTRACT, **options: object) -> list[str]:
    nodes = [node for node in contract.nodes if node.role in ROLES.get(gate, ("train", "ingest"))]
    return equivalent(contract, gate, nodes, options)


def argvs(gate: str, program: str) -> list[list[str]]:
    return [shlex.split(line, comments=True) for line in lines(gate) if line.startswith(program)]


def options_of(argv: list[str]) -> dict[str, str]:
    return {word: value for word, value in zip(argv, argv[1:], strict=False) if word.startswith("--")}


@pytest.mark.parametrize("gate", ALL)
def test_a_shell_reads_every_line(gate: str) -> None:
    text = "\n".join(lines(gate))
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert text and done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("gate", ALL)
def test_no_line_holds_a_secret_or_the_way_to_one(gate: str) -> None:
    text = "\n".join(lines(gate)).lower()
    assert not re.search(r"account-key|connection-string|sas-token|[?&]sig=|password|secret", text)


def test_the_account_is_one_that_no_key_and_no_public_network_opens() -> None:
    [argv] = argvs("infra", "az storage account create")
    said = options_of(argv)
    assert said["--enable-hierarchical-namespace"] == "true" and said["--allow-shared-key-access"] == "false"
    assert said["--public-network-access"] == "Disabled" and said["--default-action"] == "Deny"
    assert said["--resource-group"] == "rg-feedline-sandbox-lake" and said["--location"] == CONTRACT.location


def test_what_the_contract_does_not_say_stops_a_shell_that_does_not_know_it_either() -> None:
    line = next(line for line in lines("infra") if line.startswith("az storage account create"))
    script = f"az() {{ echo made; }}\n{line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env={})
    assert done.returncode != 0 and "lake.redundancy of the settings" in done.stderr and "made" not in done.stdout


def test_every_container_and_every_grant_has_its_line_at_the_containers_own_scope() -> None:
    made = {options_of(argv)["--name"] for argv in argvs("infra", "az storage container-rm create")}
    assert made == set(CONTRACT.accounts[0].containers)
    assigned = [options_of(argv) for argv in argvs("infra", "az role assignment create")]
    assert len(assigned) == sum(map(len, GRANTS.values())) == sum(len(i.grants) for i in CONTRACT.identities)
    assert all("/containers/" in one["--scope"] for one in assigned)
    assert {one["--role"] for one in assigned if "checkpoints" in one["--scope"]} >= {
        "Feedline feedline-sandbox checkpoint writer"
    }


def test_access_asks_what_must_be_refused_too_and_says_so() -> None:
    asked = lines("access")
    refused = [line for line in asked if "must be refused" in line]
    assert refused and all(line.startswith("az storage blob") for line in refused)
    assert any("blob delete" in line and "checkpoints" in line for line in refused)


def test_ingest_uploads_with_hashes_as_the_ingest_identity() -> None:
    [argv] = [shlex.split(line) for line in lines("ingest", source="/data/my shards") if line.startswith("azcopy copy")]
    assert argv[2] == "/data/my shards" and "--put-md5" in argv and "--recursive" in argv
    assert argv[3] == "https://feedlinesandbox.blob.core.windows.net/training-data/shards-v1"
    assert f"export AZCOPY_MSI_CLIENT_ID={CONTRACT.identity('ingest').client_id}" in lines("ingest")


def test_a_source_nobody_named_is_asked_of_the_shell() -> None:
    assert any('"${SOURCE:?a folder on the ingest node}"' in line for line in lines("ingest"))


def test_nvme_is_the_planners_own_answer_to_blank_disks() -> None:
    assert any(line.startswith("mdadm --create") and "/dev/nvme7n1" in line for line in lines("nvme"))
    disk = replace(CONTRACT, nodes=tuple(replace(n, cache_lun=0) for n in CONTRACT.nodes))
    assert any("/dev/disk/azure/data/by-lun/0" in line for line in lines("nvme", disk))


def test_a_size_nobody_knows_sends_to_the_node() -> None:
    unknown = replace(CONTRACT, nodes=tuple(replace(n, size="S") for n in CONTRACT.nodes))
    with pytest.raises(OperationError, match="local disks are not known"):
        lines("nvme", unknown)


def test_cache_writes_the_configuration_and_mounts_it() -> None:
    text = "\n".join(lines("cache"))
    assert "blobfuse2 mount /mnt/training-data --config-file=/etc/feedline/training-data.yaml" in text
    assert "  mode: msi" in text and "account-name: feedlinesandbox" in text


def test_validate_watches_gpus_and_disks_while_it_reads() -> None:
    text = "\n".join(lines("validate"))
    assert "iostat -x" in text and "nvidia-smi" in text and "/mnt/training-data/shards-v1" in text


def test_nodes_with_the_same_lines_share_them() -> None:
    two = replace(CONTRACT, nodes=(*CONTRACT.nodes, replace(CONTRACT.nodes[0], name="gpu-1")))
    assert [line for line in lines("nvme", two) if line.startswith("# nvme")] == ["# nvme, as root on gpu-0, gpu-1:"]


def test_a_gate_without_commands_names_those_that_have_some() -> None:
    with pytest.raises(OperationError, match="no commands are known") as error:
        lines("handoff")
    assert "infra, doctor" in error.value.hint


def test_the_steps_of_a_plan_do_what_they_say(tmp_path: Path) -> None:
    content = "a 'b' $HOME `c`\nEOF\nlast"
    folder, user = tmp_path / "a b", "root:root"
    plan = Plan(
        (
            Step.folder(str(folder), "why", mode=0o750, owner=user),
            Step.write(str(folder / "file"), content, "why", mode=0o600),
            Step.run(("touch", str(folder / "it's")), "why"),
            Step.run(("feedline", "seal", "x"), "written last"),
        )
    )
    # Who a test runs as cannot give files away.
    script = "\n".join(of_plan(plan)).replace(" -o root -g root", "")
    subprocess.run(["bash", "-euc", script], check=True)
    assert (folder / "file").read_text() == content + "\n" and (folder / "file").stat().st_mode & 0o777 == 0o600
    assert (folder / "it's").exists() and folder.stat().st_mode & 0o777 == 0o750
    assert of_plan(plan)[-1] == "# feedline seal x   (no tool of its own: written last)"
