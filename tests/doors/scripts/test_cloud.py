"""What `doctor --cloud` asks, of a control plane that answers in Azure's shapes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from feedline.errors import OperationError
from feedline.settings import Settings
from feedline.verdict import Status
from feedline.verdicts.cloud import says_no
from scripts import settings_file
from scripts.arm import Arm
from scripts.cloud import STORAGE, ask, show
from scripts.places import CHECKOUT
from tests.doors.scripts.conftest import ControlPlane


@pytest.fixture(scope="module")
def settings() -> Settings:
    return settings_file.read(CHECKOUT, "prod")


def failing(plane: ControlPlane, settings: Settings) -> dict[str, str]:
    return {f"{v.check} {v.subject}": v.reason for v in ask(plane.arm, settings) if v.status is Status.FAIL}


def test_an_empty_subscription_with_plenty_passes_all_that_can_be_asked(
    plane: ControlPlane, settings: Settings
) -> None:
    plane.facts()
    found = ask(plane.arm, settings)
    assert {v.check for v in found} == {"quota", "limit", "account", "rights", "provider", "capacity"}
    assert [v.check for v in found if v.status is not Status.PASS] == ["capacity"] and not says_no(found)


def test_each_thing_a_subscription_lacks_is_told_by_its_name(plane: ControlPlane, settings: Settings) -> None:
    plane.facts(
        cores={"standardNDSH100v5Family": 95}, limits={"StorageAccounts": 0}, unregistered=["Microsoft.Insights"]
    )
    assert failing(plane, settings) == {
        "quota standardNDSH100v5Family": "QUOTA",
        "limit StorageAccounts": "QUOTA",
        "provider Microsoft.Insights": "NOT_REGISTERED",
    }
    plane.facts(not_offered=[settings.nodes.size])
    assert failing(plane, settings) == {f"size {settings.nodes.size}": "SIZE_NOT_OFFERED"}


def test_a_reader_may_ask_everything_and_is_told_that_it_may_not_build(plane: ControlPlane, settings: Settings) -> None:
    plane.facts(reader=True)
    assert set(failing(plane, settings).values()) == {"NO_RIGHT"}


def test_an_account_of_somebody_elses_is_taken_and_our_own_is_not(plane: ControlPlane, settings: Settings) -> None:
    plane.facts()
    name, location = settings.lake.account, settings.location
    for group, due in (("rg-other", {f"account {name}": "NAME_TAKEN"}), (f"rg-{settings.cluster}-lake", {})):
        rid = f"/subscriptions/{settings.subscription_id}/resourceGroups/{group}"
        plane.arm.change("PUT", rid, {"location": location})
        body = {"location": location, "kind": "StorageV2", "sku": {"name": "Standard_ZRS"}, "properties": {}}
        plane.arm.change("PUT", f"{rid}/providers/{STORAGE}/{name}", body)
        assert failing(plane, settings) == due
        plane.arm.change("DELETE", rid)


def test_a_question_that_is_refused_hides_no_other_and_is_no_pass(plane: ControlPlane, settings: Settings) -> None:
    plane.facts()
    send = plane.arm._send

    def closed(method: str, target: str, body: object) -> object:
        if "Microsoft.Authorization" in target:
            return 403, {}, {"error": {"code": "AuthorizationFailed", "message": "no"}}
        return send(method, target, body)

    found = ask(Arm(closed), settings)  # type: ignore[arg-type]
    assert [(v.check, v.reason) for v in found if v.status is not Status.PASS] == [
        ("rights", "REFUSED"),
        ("capacity", "NOT_ASKED"),
    ]
    assert says_no(found)


def test_nothing_that_can_be_asked_at_all_is_one_error(settings: Settings) -> None:
    with pytest.raises(OperationError, match="SubscriptionNotFound"):
        ask(Arm(lambda *_: (404, {}, {"error": {"code": "SubscriptionNotFound", "message": "x"}})), settings)


def test_the_answers_are_kept_as_evidence(
    plane: ControlPlane,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FEEDLINE_HOME", str(tmp_path))
    plane.facts(reader=True)
    assert show(ask(plane.arm, settings), as_json=True, what="doctor --cloud", cluster=settings.cluster) == 2
    said = json.loads(capsys.readouterr().out)
    kept = json.loads((Path(said["evidence"]) / "verdicts" / "doctor-cloud.json").read_text())
    assert kept["verdicts"] == said["verdicts"] and Path(said["evidence"]).is_relative_to(tmp_path)
