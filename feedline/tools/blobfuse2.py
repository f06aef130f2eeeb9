"""BlobFuse2: its version text and the parts of its configuration file that are read back. Behaviour seen in 2.5.6."""

from __future__ import annotations

import re

STANDIN = "feedline"
"""The stand-in's `--version` carries this word on a line of its own; the real program has no such line."""


def version(text: str) -> tuple[str, bool]:
    """Given what `blobfuse2 --version` printed, return (version, whether it is the stand-in); ("", False) if it does
    not say.

    The real program prints a debug line about plug-ins first.
    """
    found = re.search(r"blobfuse2 version:?\s*v?(\d+\.\d+\.\d+)", text)
    return (found.group(1) if found else "", STANDIN in text.lower())


def cache_path(config: str) -> str | None:
    """Given a configuration's text, return the folder it caches in: `path` of xload, file_cache or block_cache."""
    section = ""
    for line in config.splitlines():
        if line and not line[0].isspace() and line.rstrip().endswith(":"):
            section = line.strip().rstrip(":")
        found = re.match(r"\s+path:\s*(\S+)\s*$", line)
        if found and section in ("xload", "file_cache", "block_cache"):
            return found.group(1).strip("\"'")
    return None


def config_file(argv: list[str]) -> str | None:
    """Given a running daemon's argv, return its --config-file, or None."""
    for index, word in enumerate(argv):
        if word.startswith("--config-file="):
            return word.partition("=")[2]
        if word == "--config-file" and index + 1 < len(argv):
            return argv[index + 1]
    return None


def max_bytes(config: str) -> int | None:
    """Given a configuration's text, return the file cache's size limit in bytes, or None when it sets none."""
    found = re.search(r"^\s+max-size-mb:\s*(\d+)\s*$", config, re.MULTILINE)
    return int(found.group(1)) * 2**20 if found else None


def fuse_version(text: str) -> str | None:
    """Given what `fusermount3 --version` printed, return the version: `3.14.0`."""
    found = re.search(r"fusermount3 version:\s*(\S+)", text)
    return found.group(1) if found else None


def allows_other(fuse_conf: str) -> bool:
    """Given /etc/fuse.conf's text, return whether `user_allow_other` stands there, and not only in a comment."""
    return any(line.strip() == "user_allow_other" for line in fuse_conf.splitlines())
