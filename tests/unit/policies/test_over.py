"""The rules over an exported stack: violations with resource and fix, exit codes, and secrets that are no pass."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from policies import over

URN = "urn:pulumi:prod::feedline::azure-native:storage:StorageAccount::lake-account"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}


def export(**inputs: Any) -> str:
    resource = {"urn": URN, "type": "azure-native:storage:StorageAccount", "inputs": inputs, "outputs": {}}
    stack = {"urn": "urn:pulumi:prod::feedline::pulumi:pulumi:Stack::feedline-prod", "type": "pulumi:pulumi:Stack"}
    return json.dumps({"version": 3, "deployment": {"resources": [stack, resource]}})


def run(text: str, *argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return over.main(argv, io.StringIO(text), out, err), out.getvalue(), err.getvalue()


def test_violations_come_with_resource_and_fix_and_exit_code_2() -> None:
    code, said, _ = run(export(accountName="lake", isHnsEnabled=False))
    assert code == 2 and "[mandatory] storage-hns  lake-account: hierarchical namespace is off" in said
    assert "fix: is_hns_enabled=True" in said and "stack prod: 1 resources" in said


def test_findings_can_be_read_by_programs() -> None:
    _, said, _ = run(export(isHnsEnabled=False), "--json")
    found = {f["rule"]: f for f in json.loads(said)}
    assert found["storage-hns"]["resource"] == "lake-account" and found["storage-hns"]["level"] == "mandatory"


def test_only_advice_is_exit_code_0(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"all": "advisory"}')
    code, said, _ = run(export(isHnsEnabled=False), "--config", str(file))
    assert code == 0 and "[advisory] storage-hns" in said and "0 mandatory" in said


def test_a_secret_that_a_rule_reads_is_no_pass_and_one_that_nobody_reads_is_no_matter() -> None:
    code, said, _ = run(export(isHnsEnabled={**SECRET, "ciphertext": "v1:x"}, note={**SECRET, "ciphertext": "y"}))
    assert code == 2 and "storage-hns  lake-account: could not be judged: isHnsEnabled is a secret" in said
    shown = export(isHnsEnabled={**SECRET, "plaintext": "true"})
    assert "storage-hns" not in run(shown)[1]


def test_a_resource_that_waits_for_its_deletion_is_not_judged() -> None:
    document = json.loads(export(isHnsEnabled=False))
    document["deployment"]["resources"][1]["delete"] = True
    assert run(json.dumps(document))[0] == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "is not JSON"), ("[]", "no export"), ("{}", "no export"), ('{"deployment": {"resources": []}}', "empty")],
)
def test_what_is_no_export_is_bad_input_with_a_hint(text: str, says: str) -> None:
    code, said, error = run(text)
    assert code == 1 and not said and says in error and "hint:" in error


def test_a_bad_configuration_is_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"storage-no-shared-key": "disabled"}')
    code, _, error = run(export(), "--config", str(file))
    assert code == 1 and "not disabled" in error
    assert run(export(), "--config", str(tmp_path / "none.json"))[0] == 1
