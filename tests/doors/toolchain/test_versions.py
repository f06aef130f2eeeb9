"""Versions are pinned in one file, and the files that registries read agree with it."""

import json
import re

import pytest

from toolchain.versions import FOLDER, at_least, first_version, pinned


def test_npm_installs_exactly_the_pinned_versions():
    assert json.loads((FOLDER / "npm" / "package.json").read_text())["dependencies"] == pinned()["npm"]


def test_the_npm_lock_names_no_host():
    lock = json.loads((FOLDER / "npm" / "package-lock.json").read_text())
    assert not [name for name, entry in lock["packages"].items() if "resolved" in entry]


def test_the_npm_lock_holds_exactly_the_pinned_versions():
    packages = json.loads((FOLDER / "npm" / "package-lock.json").read_text())["packages"]
    for name, version in pinned()["npm"].items():
        assert packages[f"node_modules/{name}"]["version"] == version


def test_the_go_module_builds_the_pinned_cli_with_the_sdk_of_the_same_release():
    text = (FOLDER / "pulumi" / "go.mod").read_text()
    for module in ("pkg", "sdk"):
        assert f"github.com/pulumi/pulumi/{module}/v3 v{pinned()['pulumi']['version']}" in text


def test_the_least_go_is_the_one_that_the_go_module_demands():
    demanded = re.search(r"^go (\S+)$", (FOLDER / "pulumi" / "go.mod").read_text(), re.MULTILINE)
    assert demanded and demanded.group(1) == pinned()["go"]["minimum"]


def test_the_wheels_are_new_enough_for_what_they_stand_in():
    assert at_least(pinned()["go"]["version"], pinned()["go"]["minimum"])
    assert at_least(pinned()["node"]["version"], pinned()["node"]["minimum"])


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.8 linux/amd64", "1.26.8"),
        ("v20.20.2\n", "20.20.2"),
        ("uv 0.13.9 (x86_64-unknown-linux-gnu)", "0.13.9"),
        ("command not found", None),
    ],
)
def test_the_version_is_found_in_what_a_tool_prints(text, version):
    assert first_version(text) == version


def test_versions_compare_by_number_and_not_by_letter():
    assert at_least("1.100.0", "1.26.6")
    assert not at_least("1.9", "1.26.6")
