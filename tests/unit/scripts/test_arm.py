"""The door to ARM: versions, pages, operations and refusals."""

from typing import Any

import pytest

from feedline.errors import OperationError
from scripts.arm import Arm, versioned

VM = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachines/gpu-0"


class Played:
    """Answers in turn, and what was asked."""

    def __init__(self, *answers: tuple[int, dict[str, str], Any]) -> None:
        self.answers, self.asked = list(answers), list[tuple[str, str]]()

    def __call__(self, method: str, target: str, body: Any) -> Any:
        self.asked.append((method, target))
        return self.answers.pop(0)


def test_each_provider_is_asked_in_its_own_version() -> None:
    assert versioned(VM) == f"{VM}?api-version=2024-11-01"
    assert versioned("/subscriptions/s/resourceGroups/r").endswith("?api-version=2024-03-01")
    assert versioned("/subscriptions/s/providers/Microsoft.Compute").endswith("?api-version=2024-03-01")


def test_types_that_stayed_behind_their_provider_are_asked_in_the_version_they_have() -> None:
    group = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachineScaleSets/gpu"
    assert versioned(f"{group}/virtualMachines").endswith("2024-11-01")
    assert versioned(f"{group}/networkInterfaces").endswith("2018-10-01")
    assert versioned("/subscriptions/s/providers/Microsoft.Compute/skus").endswith("2021-07-01")


def test_all_pages_of_a_list_are_read_from_the_same_place() -> None:
    played = Played(
        (200, {}, {"value": [1], "nextLink": "https://elsewhere.example/next?api-version=x&$skiptoken=2"}),
        (200, {}, {"value": [2]}),
    )
    assert list(Arm(played).list("/subscriptions/s/providers/Microsoft.Storage/storageAccounts")) == [1, 2]
    assert played.asked[1] == ("GET", "/next?api-version=x&$skiptoken=2")


def test_a_resource_that_is_not_there_is_none_and_another_refusal_is_arms_own_words() -> None:
    assert Arm(Played((404, {}, {"error": {"code": "NotFound"}}))).get(VM) is None
    refused = {"error": {"code": "AuthorizationFailed", "message": "no permission"}}
    with pytest.raises(OperationError, match="AuthorizationFailed: no permission") as error:
        Arm(Played((403, {}, refused))).get(VM)
    assert "az login" in str(error.value)


def test_an_operation_is_waited_for_and_its_failure_is_told() -> None:
    started = (202, {"azure-asyncoperation": "https://management.azure.com/op/1?api-version=y"}, None)
    waits: list[float] = []
    played = Played(started, (200, {}, {"status": "InProgress"}), (200, {}, {"status": "Succeeded"}))
    Arm(played, waits.append).change("POST", f"{VM}/restart")
    assert len(waits) == 1 and played.asked[-1] == ("GET", "/op/1?api-version=y")
    failed = (200, {}, {"status": "Failed", "error": {"code": "AllocationFailed", "message": "none left"}})
    with pytest.raises(OperationError, match="AllocationFailed: none left"):
        Arm(Played(started, failed), waits.append).change("PUT", VM, {})


def test_outside_the_shell_the_sandbox_is_not_guessed() -> None:
    with pytest.raises(OperationError, match=r"work inside \./run shell"):
        Arm.sandbox({})


def test_a_socket_nobody_listens_on_is_one_message() -> None:
    with pytest.raises(OperationError, match="the sandbox does not answer"):
        Arm.sandbox({"FEEDLINE_ARM_SOCKET": "/tmp/no-such.sock"}).get(VM)
