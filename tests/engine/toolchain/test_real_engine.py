"""The Pulumi CLI of ./run setup with our language host: a whole life of a stack, without any cloud or provider."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolchain.env import sandbox_env
from toolchain.versions import FOLDER

PROJECT = "name: tiny\nmain: program\nruntime: {name: python, options: {toolchain: pip, virtualenv: %s}}\n"
PROGRAM = """
import pulumi
pulumi.ComponentResource("tiny:index:Thing", "small", None)
pulumi.export("told", f"{pulumi.get_stack()} {pulumi.Config().require_int('size')}")
"""
SLOW_PROGRAM = "import time; print('running', flush=True); time.sleep(120)"
PACK = """
import pulumi
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

def judge(args, report):
    if args.resource_type == "tiny:index:Thing":
        report(f"no things in {pulumi.get_stack()}")

PolicyPack("tiny", [ResourceValidationPolicy("no-things", "things are forbidden", judge, EnforcementLevel.MANDATORY)])
"""


@pytest.fixture
def pulumi(tmp_path):
    """Runs the CLI in a project of its own: home, state and stack are this test's."""
    (tmp_path / "program").mkdir()
    (tmp_path / "state").mkdir()
    (tmp_path / "Pulumi.yaml").write_text(PROJECT % Path(sys.prefix))
    (tmp_path / "program" / "__main__.py").write_text(PROGRAM)
    env = {**os.environ, **sandbox_env(FOLDER.parent)}
    env |= {"PULUMI_HOME": str(tmp_path / "home"), "PULUMI_BACKEND_URL": f"file://{tmp_path}/state"}

    def run(*words, code=0):
        done = subprocess.run(["pulumi", *words], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=110)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    run.env = env
    run("stack", "init", "dev")
    run("config", "set", "size", "3")
    return run


@pytest.mark.timeout(120)
def test_a_stack_is_made_kept_and_destroyed(pulumi):
    assert "2 to create" in pulumi("preview")
    assert "2 created" in pulumi("up", "--yes", "--skip-preview")
    assert json.loads(pulumi("stack", "output", "--json")) == {"told": "dev 3"}
    assert "2 unchanged" in pulumi("up", "--yes", "--skip-preview")
    assert "2 deleted" in pulumi("destroy", "--yes", "--skip-preview")


@pytest.mark.timeout(120)
def test_a_policy_pack_judges_the_stack_that_it_is_told(pulumi, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__main__.py").write_text(PACK)
    (tmp_path / "pack" / "PulumiPolicy.yaml").write_text((PROJECT % Path(sys.prefix)).split("\n", 2)[2])
    assert "no things in dev" in pulumi("preview", "--policy-pack", "pack", code=1)


def processes_of(folder):
    """Given a folder, return the ids of live processes whose command line names it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder) in (entry / "cmdline").read_text().replace("\0", " "):
                found.append(int(entry.name))
        except OSError:
            continue  # it ended while we looked
    return found


@pytest.mark.timeout(120)
def test_nothing_survives_a_killed_engine(pulumi, tmp_path):
    (tmp_path / "program" / "__main__.py").write_text(SLOW_PROGRAM)
    with subprocess.Popen(
        ["pulumi", "preview"], cwd=tmp_path, env=pulumi.env, stdout=subprocess.PIPE, text=True
    ) as engine:
        assert engine.stdout is not None
        assert any("running" in line for line in engine.stdout)
        assert processes_of(tmp_path), "the program must have been seen, or this test shows nothing"
        engine.send_signal(signal.SIGKILL)
        end = time.monotonic() + 10
        while (left := processes_of(tmp_path)) and time.monotonic() < end:
            time.sleep(0.05)
        assert left == []
