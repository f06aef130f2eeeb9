"""feedline/ decides and touches nothing. (Which room may import which: see import-linter in pyproject.toml.)"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FEEDLINE = Path(__file__).resolve().parents[2] / "feedline"
# Standard modules that reach a file, socket, clock, process, environment or chance.
EFFECTS = {
    "asyncio", "builtins", "ctypes", "fcntl", "fileinput", "ftplib", "getpass", "glob", "http", "importlib", "io",
    "mmap", "multiprocessing", "os", "pathlib", "pickle", "platform", "pty", "random", "runpy", "sched", "secrets",
    "select", "selectors", "shelve", "shutil", "signal", "smtplib", "socket", "socketserver", "sqlite3", "ssl",
    "subprocess", "sys", "syslog", "tempfile", "threading", "time", "tty", "webbrowser",
}  # fmt: skip
CALLS = {"open", "input", "print", "exec", "eval", "__import__"}
CLOCKS = {"now", "today", "utcnow"}  # of datetime and date


def trespasses(source: str) -> Iterator[str]:
    """Given a module's source, yield what it imports or calls that a pure module may not, as "line: what"."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""] if not node.level else []
        elif isinstance(node, ast.Call):
            names = []
            if isinstance(node.func, ast.Name) and node.func.id in CALLS:
                yield f"{node.lineno}: calls {node.func.id}()"
            elif isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS:
                yield f"{node.lineno}: reads the clock by {node.func.attr}()"
        else:
            continue
        for name in names:
            top = name.split(".")[0]
            if top in EFFECTS or (top not in sys.stdlib_module_names and top != "feedline"):
                yield f"{node.lineno}: imports {name}"


@pytest.mark.parametrize("path", sorted(FEEDLINE.rglob("*.py")), ids=lambda path: str(path.relative_to(FEEDLINE)))
def test_a_decision_touches_no_file_socket_clock_process_or_environment(path):
    assert list(trespasses(path.read_text())) == []


@pytest.mark.parametrize(
    "line",
    ["import os", "from os import path", "import azure.identity", "open('x')", "from time import sleep",
     "import datetime; datetime.datetime.now()", "import scripts.runner"],
)  # fmt: skip
def test_a_trespass_is_noticed(line):
    assert len(list(trespasses(line))) == 1


@pytest.mark.parametrize("line", ["import json", "from feedline import units", "from collections.abc import Mapping"])
def test_pure_modules_pass(line):
    assert list(trespasses(line)) == []
