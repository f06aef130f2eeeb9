"""PID 1 of the sandbox's namespaces: prepare them, start the controller, reap what is orphaned, end with it.

When this process dies, by whatever signal, the kernel ends every process in its PID namespace, and with them go mounts,
loops (they clear themselves, see nodes/disks.py) and network namespaces.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from sandbox.nodes import network
from sandbox.nodes.tools import run

# Names that would otherwise be the machine's: `ip netns` keeps its list in one, nspawn its locks in the other.
OWN_FOLDERS = ("/run/netns", "/run/systemd")


def prepare() -> None:
    """Give these namespaces their own /run folders and the fabric. Raise RuntimeError outside of fresh namespaces."""
    if os.getpid() != 1:
        raise RuntimeError(
            "sandbox.init is the first process of its own namespaces: start it with `python -m sandbox up`"
        )
    for folder in OWN_FOLDERS:
        Path(folder).mkdir(parents=True, exist_ok=True)
        run(["mount", "-t", "tmpfs", "-o", "mode=755", "feedline", folder])
    network.build_fabric()


def main(argv: list[str]) -> int:
    """Given the controller's arguments, run it as a child until it ends; return its exit status."""
    prepare()
    controller = subprocess.Popen([sys.executable, "-m", "sandbox.controller", *argv], stdin=subprocess.DEVNULL)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: controller.send_signal(received))
    while True:
        pid, status = os.wait()  # every orphan of the namespace becomes our child
        if pid == controller.pid:
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
