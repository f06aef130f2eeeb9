"""The command line: mount, unmount, mount list, --version."""

from __future__ import annotations

import argparse
import ctypes
import glob
import os
import subprocess
import sys
import time

from sandbox.standins.blobfuse2 import settings
from sandbox.standins.blobfuse2.settings import Options, Refused
from sandbox.standins.blobfuse2.storage import Container, StorageError

VERSION = "2.5.6"
PLUGINS = "initializePlugins: No plugins to load."
PR_SET_NAME = 15
WAIT_S = 5.0


def stamp() -> str:
    """The time as the real program writes it."""
    return time.strftime("%a %b %d %H:%M:%S.000 UTC %Y", time.gmtime())


class Log:
    """The log of `logging.type: base`; other types go nowhere here (a node has no syslog)."""

    ORDER = ("LOG_OFF", "LOG_CRIT", "LOG_ERR", "LOG_WARNING", "LOG_INFO", "LOG_TRACE", "LOG_DEBUG")

    def __init__(self, options: Options) -> None:
        self._path, self._mount = options.log_path, options.mount
        self._level = self.ORDER.index(options.log_level) if options.log_level in self.ORDER else 3

    def __call__(self, level: str, text: str) -> None:
        """Write one line, if its level is wanted."""
        if self._path and self.ORDER.index(level) <= self._level:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(f"{stamp()} : blobfuse2[{os.getpid()}] : [{self._mount}] {level} [standin.py (1)]: {text}\n")


def configured(log: Log, o: Options) -> None:
    """Log the effective configuration, whatever the level: a runbook reads it."""
    log("LOG_CRIT", f"Starting Blobfuse2 Mount : {VERSION} on [feedline stand-in]")
    log(
        "LOG_CRIT",
        f"Libfuse::Configure : read-only {str(o.read_only).lower()}, "
        f"allow-other {str(o.allow_other).lower()}, mountPath {o.mount}",
    )
    if o.preload:
        log(
            "LOG_CRIT",
            f"Xload::Configure : block size {o.block_bytes}, mode PRELOAD, path {o.cache}, workers {o.workers}",
        )
    else:
        size = o.max_bytes >> 20
        log(
            "LOG_CRIT",
            f"FileCache::Configure : cache-timeout {o.timeout_s:.0f}, tmp-path {o.cache}, max-size-mb {size}",
        )
    log(
        "LOG_CRIT",
        f"ParseAndValidateConfig : account {o.account}, container {o.container}, "
        f"account-type {o.kind.upper()}, auth MSI",
    )
    if o.kind == "adls":
        log("LOG_WARNING", "the stand-in serves an adls mount through the blob endpoint")


def mount(arguments: list[str]) -> int:
    """`mount DIR …`, or `mount list`."""
    parser = argparse.ArgumentParser(prog="blobfuse2 mount", allow_abbrev=False)
    parser.add_argument("path")
    parser.add_argument("--config-file", default="config.yaml")
    for flag in ("--foreground", "--read-only", "--preload", "--allow-other", "--cleanup-on-start"):
        parser.add_argument(flag, nargs="?", const="true", default=None)
    parser.add_argument("--tmp-path")
    parser.add_argument("--wait-for-mount", default="5s")
    parser.add_argument("--disable-version-check", nargs="?", const="true")
    parser.add_argument("--log-level")
    parser.add_argument("-o", action="append", default=[])
    typed = parser.parse_args(arguments)
    if typed.path == "list":
        return listed()
    path = os.path.abspath(typed.path)
    if not os.path.isdir(path):
        raise Refused("mount directory does not exist")
    if os.listdir(path):
        raise Refused("mount directory is not empty")
    raw = settings.load(typed.config_file)
    flags = {
        name: getattr(typed, name) == "true" or None
        for name in ("read_only", "preload", "allow_other", "cleanup_on_start")
    }
    options = settings.resolve(path, raw, {**flags, "tmp_path": typed.tmp_path})
    settings.prepare_cache(options)
    container = Container(options.endpoint, options.container, options.client_id)
    log = Log(options)
    configured(log, options)
    if options.with_storage:
        check(container, log)
    foreground = typed.foreground == "true" or bool(raw.get("foreground"))
    return (
        serve(options, container, log)
        if foreground
        else background(options, container, log, float(typed.wait_for_mount.rstrip("s") or WAIT_S))
    )


def check(container: Container, log: Log) -> None:
    """Ask for a listing before mounting. Raise Refused with the service's own code."""
    try:
        container.probe()
    except StorageError as error:
        log("LOG_ERR", f"AzStorage::configureAndTest : Failed to validate credentials [{error}]")
        raise settings.authentication_failed(error.code) from error


def serve(options: Options, container: Container, log: Log) -> int:
    """Mount and serve until unmounted."""
    os.environ.setdefault("FUSE_LIBRARY_PATH", library())
    import mfusepy

    from sandbox.standins.blobfuse2.cache import FileCache
    from sandbox.standins.blobfuse2.files import MAX_READ, BlobFiles

    cache = FileCache(options, container, log)
    wanted = {"fsname": "blobfuse2", "max_read": MAX_READ, "ro": options.read_only, "allow_other": options.allow_other}
    mfusepy.FUSE(
        BlobFiles(options, container, cache, log),
        options.mount,
        foreground=True,
        **{k: v for k, v in wanted.items() if v},
    )
    return 0


def background(options: Options, container: Container, log: Log, wait_s: float) -> int:
    """Serve in a child of its own session; return once mounted - or after the wait, with 0 all the same, as the real
    one."""
    child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(quiet, descriptor)
        os._exit(serve(options, container, log))
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline and not os.path.ismount(options.mount):
        if os.waitpid(child, os.WNOHANG)[0]:
            raise Refused("mount process ended")
        time.sleep(0.05)
    return 0


def library() -> str:
    """The real file of libfuse3: mfusepy reads the version off its name."""
    found = sorted(
        os.path.realpath(p) for p in glob.glob("/usr/lib/*/libfuse3.so.3*") + glob.glob("/lib/*/libfuse3.so.3*")
    )
    if not found:
        raise Refused("libfuse3 is not installed")
    return found[-1]


def mounts() -> list[str]:
    """Mount points whose source is blobfuse2."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return [line.split()[4] for line in file if " - fuse blobfuse2 " in line]


def listed() -> int:
    """`mount list`."""
    found = mounts()
    for number, path in enumerate(found, 1):
        print(f"{number} : {path}")
    return 0


def unmount(arguments: list[str]) -> int:
    """`unmount DIR [-z]`, `unmount all`."""
    parser = argparse.ArgumentParser(prog="blobfuse2 unmount")
    parser.add_argument("path")
    parser.add_argument("-z", "--lazy", action="store_true")
    typed = parser.parse_args(arguments)
    paths = mounts() if typed.path == "all" else [typed.path]
    if not paths:
        print("Nothing to unmount")
    for path in paths:
        done = subprocess.run(
            ["fusermount3", "-u", *(["-z"] if typed.lazy else []), path], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Refused(done.stderr.strip())
        print(f"Successfully unmounted {path}")
    return 0


def main(arguments: list[str]) -> int:
    """Given the arguments, do what they say; 0 or 1 as the real program."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"blobfuse2", 0, 0, 0)
    if arguments[:1] in (["--version"], ["version"]):
        print(f"blobfuse2 version {VERSION}\nFeedline's stand-in, for rehearsals")
        return 0
    print(f"{stamp()} : blobfuse2[{os.getpid()}] : [] LOG_DEBUG [custom.go (54)]: {PLUGINS}", flush=True)
    commands = {"mount": mount, "unmount": unmount}
    if not arguments or arguments[0] not in commands:
        sys.stderr.write(f'Error: unknown command "{" ".join(arguments[:1])}" for "blobfuse2"\n')
        return 1
    try:
        return commands[arguments[0]](arguments[1:])
    except Refused as refused:
        sys.stderr.write(f"Error: {refused}\n")
        return 1
