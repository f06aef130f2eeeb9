"""The node image: a small Debian or Ubuntu made once from the machine's own apt sources, as a ready ext4 file.

Nothing of one sandbox is in it (no keys, no certificate, no resolver): those enter with the seed, per node.
"""

import fcntl
import hashlib
import platform
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from sandbox.nodes.tools import ToolError, run

PACKAGES = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "udev",
    "util-linux",
    "procps",
    "iproute2",
    "nftables",
    "sudo",
    "openssh-server",
    "cloud-init",
    "ca-certificates",
    "apt",
    "gpgv",
    "fuse3",
    "libsecret-1-0",
    "e2fsprogs",
    "xfsprogs",
    "sysstat",
    "python3",
    "python3-yaml",
)
# Timers and consoles of a machine that lives for years; in a node they only cost memory and disk traffic.
MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "sysstat-collect.timer",
    "sysstat-summary.timer",
    "sysstat.service",
    "console-getty.service",
    "getty.target",
    "systemd-timesyncd.service",
    "systemd-networkd.service",
    "systemd-resolved.service",
    "nftables.service",
    "cloud-init-hotplugd.socket",
)
FILES = {
    "etc/systemd/journald.conf.d/node.conf": "[Journal]\nStorage=persistent\nSystemMaxUse=32M\n",
    "etc/fuse.conf": "user_allow_other\n",
    # The machine's mirrors cannot be reached from a node; the sandbox's own repository comes with customData.
    "etc/apt/sources.list": "# No mirror can be reached from here.\n",
}
REMOVED = (
    "etc/resolv.conf",
    "etc/hostname",
    "var/lib/dbus/machine-id",
    "etc/ssh/ssh_host_*",
    "etc/apt/sources.list.d/*",
    "etc/apt/apt.conf.d/99mmdebstrap",
    "var/cache/apt/*.bin",
    "var/lib/apt/lists/*_*",
    "usr/share/doc/*",
    "usr/share/man/*",
    "usr/share/locale/*",
    "var/cache/debconf/*-old",
    "var/log/*.log",
)
SIZE = "6G"  # of the OS disk; sparse, so an idle node costs what it writes
RECIPE_VERSION = "1"


def ensure_image(images: Path, say: Callable[[str], None] = lambda line: None) -> Path:
    """Given the folder of images, return the ext4 image of today's recipe, building it first if it is not there.

    Raise ToolError if it cannot be built. Several builders at once wait for one.
    """
    sources = distribution_sources()
    folder = images / image_hash(sources)
    image = folder / "root.ext4"
    images.mkdir(parents=True, exist_ok=True)
    with (images / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not image.exists():
            say("building the node image (once, about a minute) …")
            for stale in images.glob("building-*"):  # of a killed builder: we hold the lock, so it is nobody's
                shutil.rmtree(stale)
            _build(images, folder, sources)
    return image


def image_hash(sources: str) -> str:
    """Given apt sources, return the content hash that names the image made of them by this recipe."""
    recipe = repr((RECIPE_VERSION, PACKAGES, MASKED, sorted(FILES.items()), REMOVED, SIZE, platform.machine(), sources))
    return hashlib.sha256(recipe.encode()).hexdigest()[:16]


def distribution_sources(apt: Path = Path("/etc/apt"), release: Path = Path("/etc/os-release")) -> str:
    """Return the machine's apt sources of its distribution, in the order apt reads them, as deb822 stanzas.

    Third-party repositories (suites that are not the release's own) are left out: nothing of a node comes from them.
    Raise ToolError if none is left.
    """
    code = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', release.read_text(), re.MULTILINE)).get("VERSION_CODENAME", "")
    stanzas = []
    for path in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]:
        if path.suffix == ".sources":
            text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE)
            stanzas += [s.strip() for s in re.split(r"\n\s*\n", text) if s.strip()]
        elif path.suffix == ".list" and path.is_file():
            stanzas += [s for line in path.read_text().splitlines() if (s := _one_line_as_deb822(line))]
    own = [s for s in stanzas if _suites(s) & {code, f"{code}-updates", f"{code}-security"} and "Enabled: no" not in s]
    if not code or not own:
        raise ToolError(
            f"{apt} names no source of this distribution ({code or 'unknown release'}): "
            "the node image needs a Debian or Ubuntu machine with its usual apt sources"
        )
    return "\n\n".join(own) + "\n"


def _suites(stanza: str) -> set[str]:
    found = re.search(r"^Suites:(.*)$", stanza, re.MULTILINE)
    return set(found.group(1).split()) if found else set()


def _one_line_as_deb822(line: str) -> str | None:
    """Given a line of a .list file, return it as a deb822 stanza, or None if it is not a binary source."""
    match = re.match(r"^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+?)\s*(?:#.*)?$", line.strip())
    if not match:
        return None
    options, uri, suite, components = match.groups()
    stanza = f"Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: {components}"
    signed = re.search(r"signed-by=(\S+)", options or "")
    return f"{stanza}\nSigned-By: {signed.group(1)}" if signed else stanza


def _build(images: Path, folder: Path, sources: str) -> None:
    """Build the image in a scratch folder and move it to its name only when it is whole."""
    scratch = Path(tempfile.mkdtemp(prefix="building-", dir=images))
    try:
        root = scratch / "root"
        run(
            [
                "mmdebstrap",
                "--mode=root",
                "--variant=minbase",
                f"--include={','.join(PACKAGES)}",
                "--quiet",
                "--dpkgopt=force-unsafe-io",
                "",
                str(root),
                "-",
            ],
            stdin=sources,
            timeout=900,
        )
        _clean(root)
        image = scratch / "root.ext4"
        # No reserved blocks and no lazy initialisation: nothing writes to the disk behind a measurement's back.
        run(
            [
                "mke2fs",
                "-q",
                "-t",
                "ext4",
                "-m",
                "0",
                "-L",
                "cloudimg-rootfs",
                "-E",
                "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
                "-J",
                "size=32",
                "-d",
                str(root),
                str(image),
                SIZE,
            ],
            timeout=300,
        )
        shutil.rmtree(root)
        shutil.rmtree(folder, ignore_errors=True)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _clean(root: Path) -> None:
    """Take out what would make two nodes alike (keys, machine id) or tie them to this machine (resolver, mirrors)."""
    for pattern in REMOVED:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "etc/machine-id").write_text("")  # empty: systemd makes one at the first boot
    (root / "var/log/journal").mkdir(exist_ok=True)
    for unit in MASKED:
        link = root / "etc/systemd/system" / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
