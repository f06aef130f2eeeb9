"""What people get wrong: one message - what, where, what to do - exit 1, and nothing changed."""

import json
import subprocess

import pytest

from scripts.places import CHECKOUT

pytestmark = pytest.mark.timeout(300)


def complaint(done):
    """The one message of a task that could not be done."""
    assert done.returncode == 1, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    assert "Traceback" not in done.stdout + done.stderr
    return done.stderr


def test_a_wrong_stack_is_named(rehearsed):
    said = complaint(rehearsed.fab("doctor", "--stack", "nope"))
    assert said.startswith("fab doctor: stack nope: ") and "hint: `pulumi stack ls`" in said


def test_a_stack_that_was_never_brought_up_is_told_to(rehearsed):
    def pulumi(*argv):
        words = ["pulumi", "stack", *argv, "--non-interactive"]
        subprocess.run(words, cwd=CHECKOUT, env=rehearsed.environment, check=True, capture_output=True)

    pulumi("init", "never-up")
    try:
        assert "run `pulumi up`" in complaint(rehearsed.fab("doctor", "--stack", "never-up"))
    finally:
        pulumi("rm", "never-up", "--yes")  # its Pulumi.never-up.yaml too


def test_an_unreachable_node_is_one_message_and_the_others_are_named_too(rehearsed, tmp_path):
    contract = rehearsed.contract()
    for node in contract["nodes"][:2]:
        node["address"] = "10.40.1.250"
    (tmp_path / "c.json").write_text(json.dumps(contract))
    said = complaint(rehearsed.fab("doctor", "--contract", str(tmp_path / "c.json")))
    assert "2 of 3 nodes could not answer" in said and said.count("cannot be reached") == 2 and "hint:" in said


def test_a_contract_of_another_version_is_refused(rehearsed, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({**rehearsed.contract(), "version": 2}))
    said = complaint(rehearsed.fab("ready", "--yes", "--contract", str(tmp_path / "c.json")))
    assert "contract version 2, this runbook reads version 1" in said and "pulumi up" in said


def test_a_node_without_sudo_is_named(rehearsed):
    files = rehearsed.sandbox("exec", "gpu-0", "--", "sh", "-c", "ls /etc/sudoers.d").stdout.split()
    assert files
    rehearsed.sandbox("exec", "gpu-0", "--", "mv", "/etc/sudoers.d", "/etc/sudoers.away")
    try:
        said = complaint(rehearsed.fab("doctor", "--nodes", "gpu-0"))
    finally:
        rehearsed.sandbox("exec", "gpu-0", "--", "mv", "/etc/sudoers.away", "/etc/sudoers.d")
    assert "gpu-0: no sudo" in said and "hint:" in said


def test_a_wrong_key_is_refused_and_said(rehearsed, tmp_path):
    import paramiko

    paramiko.ECDSAKey.generate().write_private_key_file(str(tmp_path / "id"))
    said = complaint(rehearsed.fab("doctor", "--nodes", "gpu-0", "--identity", str(tmp_path / "id")))
    assert "the node refused the SSH key" in said and "FEEDLINE_SSH_KEY" in said


def test_a_source_folder_that_is_not_there_changes_nothing(rehearsed):
    said = complaint(rehearsed.fab("ingest", "--source", "/nowhere", "--yes"))
    assert "/nowhere" in said and "on the ingest node" in said


def test_without_a_terminal_and_without_yes_nothing_is_changed(rehearsed, tmp_path):
    rehearsed.sandbox("exec", "ingest-0", "--", "sh", "-c", "mkdir -p /var/tmp/other && echo x > /var/tmp/other/x")
    said = complaint(rehearsed.fab("ingest", "--source", "/var/tmp/other", "--dataset", "other-v1"))
    assert "--yes" in said


def test_a_controller_that_does_not_run_is_said_with_how_to_start_it(rehearsed, tmp_path):
    """The contract is there, the sandbox behind it is not: what a person meets after a reboot of their machine."""
    contract = rehearsed.contract()
    contract["ssh"]["command"] = contract["ssh"]["command"].replace("dial.sock", "gone.sock")
    (tmp_path / "c.json").write_text(json.dumps(contract))
    said = complaint(rehearsed.fab("doctor", "--nodes", "gpu-0", "--contract", str(tmp_path / "c.json")))
    assert "the sandbox is not running" in said and "./run shell" in said


def test_a_dry_run_shows_the_plan_and_changes_nothing(rehearsed):
    said = rehearsed.fab_json("nvme", "--dry-run", "--yes", "--nodes", "gpu-0")
    assert [step["argv"][0] for step in said["plans"]["gpu-0"]["steps"] if step["argv"]][0].startswith("mkfs")
    assert rehearsed.sandbox("exec", "gpu-0", "--", "findmnt", "/mnt/resource", check=False).returncode == 1
