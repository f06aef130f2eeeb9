"""Runs inside a node, its source piped to `python3 - ORDER` (ORDER is JSON; see sandbox/faults.py).

Moves the cache of every running blobfuse2 to the OS disk, or puts the remembered configurations back, and restarts the
units. Prints what was there before as JSON. Needs only what a node has: the standard library and PyYAML.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

TARGET = Path("/var/cache/feedline-os-disk")
DROP_INS = Path("/run/systemd/system")
CACHES = ("file_cache", "block_cache", "xload", "preload")


def running() -> Iterator[dict[str, str]]:
    """Yield configuration file, its text, unit and mount point of every running blobfuse2 mount."""
    seen = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            argv = (process / "cmdline").read_text().split("\0")[:-1]
            groups = (process / "cgroup").read_text()
        except OSError:  # it ended meanwhile
            continue
        if not any(Path(word).name == "blobfuse2" for word in argv[:3]):
            continue
        config = option(argv, "--config-file")
        units = [part for line in groups.splitlines() for part in line.split("/") if part.endswith(".service")]
        points = [word for word in argv if word.startswith("/") and os.path.ismount(word)]
        if config and units and points and config not in seen:
            seen.add(config)
            yield {"config": config, "text": Path(config).read_text(), "unit": units[0], "point": points[0]}


def option(argv: Sequence[str], name: str) -> str | None:
    """Return the value of `--name value` or `--name=value`."""
    for index, word in enumerate(argv):
        if word == name:
            return argv[index + 1] if index + 1 < len(argv) else None
        if word.startswith(name + "="):
            return word.split("=", 1)[1]
    return None


def moved(text: str) -> str:
    """Given a configuration, return it with its cache folders on the OS disk, and make those folders."""
    config = yaml.safe_load(text)
    for name in CACHES:
        section = config.get(name)
        if isinstance(section, dict) and section.get("path"):
            folder = TARGET / Path(section["path"]).name
            folder.mkdir(parents=True, exist_ok=True)
            section["path"] = str(folder)
    return str(yaml.safe_dump(config, sort_keys=False))


def unguard(unit: str, *, off: bool) -> None:
    """Take a unit's start-up checks away, as somebody does who wants his own cache folder; or put them back."""
    drop_in = DROP_INS / f"{unit}.d" / "50-feedline-fault.conf"
    if off:
        drop_in.parent.mkdir(parents=True, exist_ok=True)
        drop_in.write_text("[Service]\nExecStartPre=\n")
    else:
        drop_in.unlink(missing_ok=True)
    subprocess.run(["systemctl", "daemon-reload"], check=True)


def settle(folder: Path, still: float = 2.0, within: float = 90.0) -> None:
    """Wait until a cache folder has not grown for `still` s: a preload fills it in the background."""
    deadline, grown_at, before = time.monotonic() + within, time.monotonic(), -1
    while time.monotonic() < deadline and time.monotonic() - grown_at < still:
        size = sum(path.stat().st_blocks for path in folder.rglob("*") if path.is_file())
        if size != before:
            before, grown_at = size, time.monotonic()
        time.sleep(0.2)


def restart(unit: str, point: str, within: float = 90.0) -> None:
    """Restart a mount's unit and wait until the mount answers. Exit with a message if that takes over `within` s."""
    subprocess.run(["systemctl", "restart", unit], check=True)
    deadline = time.monotonic() + within
    while not (os.path.ismount(point) and subprocess.run(["ls", point], capture_output=True).returncode == 0):
        if time.monotonic() > deadline:
            sys.exit(f"{unit} was restarted but {point} does not serve after {within:g} s: see journalctl -u {unit}")
        time.sleep(0.2)


def main(order: dict[str, Any]) -> None:
    """Given the order, do it and print the memory that undoes it."""
    memory = order.get("memory") or list(running())
    if not memory:
        sys.exit("no blobfuse2 mount with a --config-file and a systemd unit runs here: run `fab cache` first")
    for entry in memory:
        unguard(entry["unit"], off=order["do"] == "move")
        Path(entry["config"]).write_text(entry["text"] if order["do"] == "restore" else moved(entry["text"]))
        restart(entry["unit"], entry["point"])
    if order["do"] == "move":
        settle(TARGET)
    print(json.dumps(memory))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
