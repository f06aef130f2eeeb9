"""One rehearsed cluster for the tests of the chain: a sandbox, a Pulumi state and a FEEDLINE_HOME of their own, so that
whoever runs the tests keeps the sandbox that they may have running."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from scripts.arguments import Arguments
from scripts.inventory import load
from scripts.places import CHECKOUT, Places
from scripts.rehearsal import cloud, main_job, source
from scripts.rehearsal.stages import Stages
from scripts.screen import Screen
from scripts.session import opened


@dataclass
class Rehearsed:
    """The running cluster and the commands a person would type at it. `first` is what the first `fab ready` said."""

    home: Path
    environment: dict[str, str]
    first: dict[str, Any] = field(default_factory=dict)

    def fab(self, *argv: str, within: float = 300, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a task; no terminal, as in a pipeline."""
        return subprocess.run(
            [str(Path(sys.executable).with_name("fab")), *argv],
            cwd=CHECKOUT,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )

    def fab_json(self, *argv: str, code: int = 0) -> dict[str, Any]:
        """Run a task with --json and return what it said; its exit code has to be the given one."""
        done = self.fab(*argv, "--json")
        assert done.returncode == code, f"{argv}: exit {done.returncode}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return dict(json.loads(done.stdout))

    def sandbox(self, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command of the sandbox."""
        words = [sys.executable, "-m", "sandbox", f"--checkout={self.home}", *argv]
        done = subprocess.run(
            words, cwd=CHECKOUT, env=self.environment, capture_output=True, text=True, timeout=240, check=False
        )
        assert not check or done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done

    def contract(self) -> dict[str, Any]:
        """Return the contract as the stack says it."""
        return load(Arguments(stack=cloud.STACK), self.environment).as_dict()

    def stages(self) -> Stages:
        """Return stages that run in this cluster's environment."""
        return Stages(Places(CHECKOUT, self.home), self.home, Screen(quiet=True))


@pytest.fixture(scope="session")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """Make the cluster once with `pulumi up`, as ./run rehearsal does; the tests share it."""
    if os.geteuid() != 0:
        pytest.skip("NOT MEASURED: a sandbox needs root")
    home = tmp_path_factory.mktemp("rehearsal")
    state = home / "state"
    before = dict(os.environ)
    os.environ.update(cloud.environment(CHECKOUT, home))
    os.environ.update({"PULUMI_BACKEND_URL": f"file://{state}", "FEEDLINE_HOME": str(home)})
    cluster = Rehearsed(home, dict(os.environ))
    try:
        main_job.make_cluster(cluster.stages(), Screen(quiet=True), state)
        with opened(Arguments(stack=cloud.STACK)) as session:
            source.make(session)
        yield cluster
    finally:
        cluster.sandbox("down", check=False)
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="session")
def handed_off(rehearsed: Rehearsed) -> Rehearsed:
    """The cluster after a first `fab ready`; whatever did not pass fails every test that needs it."""
    done = rehearsed.fab("ready", "--source", source.FOLDER, "--yes", "--json", within=420)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stdout[-6000:]}{done.stderr[-3000:]}"
    rehearsed.first = json.loads(done.stdout)
    return rehearsed
