"""The data plane alone, with real clients: nginx, dnsmasq, Azurite, AzCopy and the Azure SDK in namespaces."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolchain.env import sandbox_env

CHECKOUT = Path(__file__).resolve().parents[2]
MISMATCH = "403 AuthorizationPermissionMismatch"
pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Play the scene once; every test looks at what it saw."""
    if os.geteuid() != 0:
        pytest.skip("NOT MEASURED: namespaces need root")
    tools = sandbox_env(CHECKOUT)
    folder = tmp_path_factory.mktemp("scene")
    azcopy = shutil.copy(tools["FEEDLINE_AZCOPY"], folder / "azcopy")
    Path(azcopy).chmod(0o755)
    namespaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    scene = ["-m", "tests.rehearsal.data_plane.scene", str(folder), tools["FEEDLINE_AZURITE"], str(azcopy)]
    done = subprocess.run(
        [*namespaces, "--mount-proc", sys.executable, *scene], cwd=CHECKOUT, capture_output=True, text=True, timeout=170
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_a_reader_reads_its_container_and_nothing_else(seen: dict[str, Any]) -> None:
    train = seen["train"]
    assert (train["list"], train["exists"], train["read"]) == ("ok", "ok", "404 BlobNotFound")
    assert {train["write"], train["delete"], train["raw"], train["no such container"]} == {MISMATCH}


def test_a_contributor_writes_reads_and_deletes_in_every_container(seen: dict[str, Any]) -> None:
    ingest = seen["ingest"]
    assert {ingest[what] for what in ("list", "write", "read", "delete", "raw")} == {"ok"}
    assert ingest["no such container"] == "404 ContainerNotFound"


def test_every_wrong_credential_has_azures_own_code(seen: dict[str, Any]) -> None:
    train = seen["train"]
    assert train["no credential"] == "401 NoAuthenticationInformation"
    assert train["bad token"] == "401 InvalidAuthenticationInfo"
    assert train["sas"] == "403 KeyBasedAuthenticationNotPermitted"
    assert train["public address"] == "403 AuthorizationFailure"
    assert train["dfs"] == "501 FeedlineSandboxNoDfs"


def test_azcopy_uploads_with_one_identity_and_downloads_the_same_bytes_with_another(seen: dict[str, Any]) -> None:
    assert seen["azcopy up"] == [0, "Completed"]
    assert seen["azcopy down"] == [0, "Completed"] and seen["same bytes"]


def test_azcopy_is_cancelled_without_the_role_and_gets_no_token_of_a_foreign_identity(seen: dict[str, Any]) -> None:
    assert seen["azcopy refused"] == [1, "Cancelled"]
    assert seen["foreign identity"] == 1


def test_a_role_that_is_granted_counts_without_a_restart(seen: dict[str, Any]) -> None:
    assert {seen["train with a role"][what] for what in ("write", "read", "delete", "raw")} == {"ok"}


def test_names_resolve_to_the_endpoint_and_all_others_do_not_exist(seen: dict[str, Any]) -> None:
    train = seen["train"]
    address, failure = train["unknown name"]
    assert train["address"] == "10.0.3.4" and address == "" and failure in ("EAI_NONAME", "EAI_NODATA")
    assert train["packages"] == "200"


def test_no_packet_finds_a_way_out(seen: dict[str, Any]) -> None:
    assert seen["train"]["outside"] in ("OSError 101", "TimeoutError None", "OSError 113")


def test_nginx_dnsmasq_and_azurite_come_back_after_kill_9(seen: dict[str, Any]) -> None:
    after = seen["after kill -9"]
    assert {after[what] for what in ("list", "write", "read", "delete", "raw")} == {"ok"}


def test_a_container_deleted_by_arm_is_gone_and_an_unlinked_zone_sends_clients_to_the_closed_public_door(
    seen: dict[str, Any],
) -> None:
    assert seen["container deleted"] == "404 ContainerNotFound"
    assert seen["zone not linked"]["address"] == "203.0.113.10"
    assert seen["zone not linked"]["list"] == "403 AuthorizationFailure"


def test_no_log_holds_a_signature_and_no_program_stays(seen: dict[str, Any]) -> None:
    assert seen["leaks"] == [] and seen["left"] == []
