"""The last step before a program that must start in a node's surroundings (standard library only, started with -S -E).

    enter.py [--disk DEVICE FOLDER] CGROUP… -- ARGV…

Joins the cgroups, mounts the OS disk, becomes ARGV. A node's first process must be in the node's cgroups before it
forks, and a thread of the controller cannot do that between fork and exec safely; this tiny program can.
"""

import os
import subprocess
import sys
from pathlib import Path


def main(argv: list[str]) -> None:
    """Given the arguments above, become ARGV. With --disk this process must be in a mount namespace of its own."""
    if argv[0] == "--disk":
        device, folder = argv[1:3]
        argv = argv[3:]
        # nspawn keeps the mounts it found, hidden, for as long as the node lives. So a node sees no other node's disk
        # (that one could never be detached) and no other's network namespace.
        subprocess.run(["umount", "--lazy", "/run/netns"], check=True)
        subprocess.run(["mount", "-t", "ext4", "-o", "noatime", device, folder], check=True)
    split = argv.index("--")
    for cgroup in argv[:split]:
        Path(cgroup, "cgroup.procs").write_text(str(os.getpid()))
    command = argv[split + 1 :]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
