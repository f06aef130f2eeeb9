"""The sandbox's environment: isolated from real clouds, and the same for a shell and for a program."""

import os
import shlex
import subprocess

import pytest

from sandbox.layout import Layout
from toolchain import env
from toolchain.context import Context
from toolchain.errors import SetupError


@pytest.fixture
def variables(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDLINE_CACHE", "/nowhere")
    return env.sandbox_env(tmp_path, {"PATH": "/usr/bin:/bin", "NO_PROXY": "corp.example"})


def test_the_engine_meets_the_controller_at_the_sandboxs_socket(tmp_path, variables):
    assert variables["FEEDLINE_ARM_SOCKET"] == str(Layout.of(tmp_path).arm_socket)


def test_state_and_home_lie_in_the_checkout_so_that_no_real_login_is_touched(tmp_path, variables):
    assert variables["PULUMI_HOME"].startswith(f"{tmp_path}/.feedline/")
    assert variables["PULUMI_BACKEND_URL"].startswith(f"file://{tmp_path}/.feedline/")


def test_no_plugin_is_downloaded_or_taken_from_the_path(variables):
    assert variables["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "true"
    assert variables["PULUMI_IGNORE_AMBIENT_PLUGINS"] == "true"


def test_the_venv_comes_first_on_the_path_and_nothing_is_lost(tmp_path, variables):
    assert variables["PATH"].split(":") == [f"{tmp_path}/.venv/bin", "/usr/bin", "/bin"]


def test_setting_it_twice_changes_nothing(tmp_path, variables):
    assert env.sandbox_env(tmp_path, variables) == variables


def test_the_loopback_address_is_never_proxied_and_the_users_own_list_stays(variables):
    assert variables["NO_PROXY"].split(",") == ["corp.example", "127.0.0.1", "localhost", "::1"]


def test_a_shell_reads_the_exports_back_exactly():
    values = {"A": 'it\'s "two" $words `x`', "B": "", "C": "line\nline"}
    script = env.as_exports(values) + '\nprintf "%s\\0" "$A" "$B" "$C"'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, env={"PATH": os.defpath})
    assert done.stdout.split("\0")[:3] == list(values.values())


def test_an_unknown_route_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(SetupError, match="auto, official, registry"):
        Context.of(tmp_path, {"FEEDLINE_TOOLCHAIN": "fastest"})


def test_ssh_enters_this_checkouts_sandbox_and_no_other(tmp_path, variables):
    words = shlex.split(variables["FEEDLINE_SSH_PROXY_COMMAND"])
    assert words[0] == f"{tmp_path}/.venv/bin/python"
    assert words[-3:] == [str(Layout.of(tmp_path).dial_socket), "%h", "%p"]
    assert variables["FEEDLINE_SSH_KEY"] == f"{tmp_path}/.feedline/ssh/id_ed25519"
