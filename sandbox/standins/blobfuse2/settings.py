"""The configuration file and the flags over it, as one set of options; mistakes in the words of the real program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

COMPONENTS = ("libfuse", "entry_cache", "xload", "block_cache", "file_cache", "attr_cache", "azstorage", "loopbackfs")
DEFAULT_TIMEOUT_S = 120
DEFAULT_WORKERS_PER_CORE = 3


class Refused(Exception):
    """The program ends with exit code 1 and `Error: <this>` on stderr."""


@dataclass(frozen=True)
class Options:
    """Everything a mount needs. Sizes in bytes, times in seconds."""

    mount: str
    read_only: bool
    allow_other: bool
    preload: bool
    cache: str
    timeout_s: float
    max_bytes: int
    allow_non_empty: bool
    cleanup_on_start: bool
    attribute_s: float
    account: str
    container: str
    endpoint: str
    kind: str
    client_id: str
    block_bytes: int
    concurrency: int
    workers: int
    log_path: str
    log_level: str
    with_storage: bool


def load(path: str) -> Mapping[str, Any]:
    """Given a configuration file, return its mapping. Raise Refused as the real program does."""
    try:
        with open(path, encoding="utf-8") as file:
            value = yaml.safe_load(file)
    except OSError as error:
        raise Refused(f"invalid config file [open {path}: {str(error.strerror).lower()}]") from error
    except yaml.YAMLError as error:
        raise Refused(f"invalid config file [While parsing config: yaml: {str(error).splitlines()[0]}]") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Refused("invalid config file [While parsing config: yaml: unmarshal errors]")
    return value


def resolve(mount: str, raw: Mapping[str, Any], flags: Mapping[str, Any]) -> Options:
    """Given the configuration and the flags that were typed (they win), return the options. Raise Refused."""
    components = [str(c) for c in raw.get("components") or ("libfuse", "file_cache", "attr_cache", "azstorage")]
    if not isinstance(raw.get("preload", False), bool):
        raise Refused(
            "failed to unmarshal config "
            "[config error: unmarshalling [decoding failed due to the following error(s):\n\n"
            "'preload' expected type 'bool', got unconvertible type 'map[string]interface {}']]"
        )
    preload = bool(flags.get("preload") or raw.get("preload") or "xload" in components)
    _check_components(components, preload)
    cache = _section(raw, "xload") if preload else _section(raw, "file_cache")
    path = flags.get("tmp_path") or cache.get("path") or (_section(raw, "file_cache").get("path") if preload else None)
    if not path:
        raise Refused(
            _pipeline(
                "config error in xload [path not given]"
                if preload
                else "config error in file_cache error [tmp-path not set]"
            )
        )
    if os.path.abspath(str(path)) == os.path.abspath(mount):
        raise Refused(_pipeline("config error in file_cache [tmp-path is same as mount path]"))
    logging, fuse = _section(raw, "logging"), _section(raw, "libfuse")
    storage = _section(raw, "azstorage")
    with_storage = "azstorage" in components
    if with_storage:
        _check_storage(storage)
        if storage.get("use-http") or str(storage.get("endpoint", "")).startswith("http://"):
            plain = "authorized requests are not permitted for non-TLS protected (https) endpoints"
            raise Refused(_pipeline(f"failed to authenticate azstorage credentials with error [{plain}]"))
    account = str(storage.get("account-name", ""))
    return Options(
        mount=mount,
        read_only=bool(flags.get("read_only") or raw.get("read-only") or preload),
        allow_other=bool(flags.get("allow_other") or raw.get("allow-other")),
        preload=preload,
        cache=os.path.expandvars(str(path)),
        timeout_s=float(cache.get("timeout-sec", DEFAULT_TIMEOUT_S)),
        max_bytes=int(float(cache.get("max-size-mb", 0)) * 2**20),
        allow_non_empty=bool(cache.get("allow-non-empty-temp")),
        cleanup_on_start=bool(cache.get("cleanup-on-start") or flags.get("cleanup_on_start")),
        attribute_s=float(fuse.get("attribute-expiration-sec", 120)),
        account=account,
        container=str(storage.get("container", "")),
        endpoint=_blob_endpoint(str(storage.get("endpoint") or f"https://{account}.blob.core.windows.net")),
        kind=str(storage.get("type", "block")),
        client_id=str(storage.get("appid", "")),
        block_bytes=int(float(storage.get("block-size-mb") or 16) * 2**20),
        concurrency=int(storage.get("max-concurrency") or 32),
        workers=int(cache.get("workers") or DEFAULT_WORKERS_PER_CORE * (os.cpu_count() or 1)),
        log_path=str(logging.get("file-path") or "") if logging.get("type") == "base" else "",
        log_level=str(logging.get("level") or "log_warning").upper(),
        with_storage=with_storage,
    )


def prepare_cache(options: Options) -> None:
    """Make the cache folder, or clear it where the configuration says so. Raise Refused when something is in it."""
    name = "xload" if options.preload else "file_cache"
    os.makedirs(options.cache, exist_ok=True)
    if options.cleanup_on_start:
        wipe(options.cache)
    if os.listdir(options.cache) and not options.allow_non_empty:
        raise Refused(_pipeline(f"config error in {name} [temp directory not empty]"))


def wipe(folder: str) -> None:
    """Delete everything in a folder, not the folder."""
    for root, folders, files in os.walk(folder, topdown=False):
        for file in files:
            os.unlink(os.path.join(root, file))
        for inner in folders:
            path = os.path.join(root, inner)
            os.unlink(path) if os.path.islink(path) else os.rmdir(path)


def authentication_failed(reason: str) -> Refused:
    """Return the refusal for a container that could not be listed at mount time."""
    return Refused(
        _pipeline(f"failed to authenticate azstorage credentials with error [BlockBlob::TestPipeline : [{reason}]]")
    )


def _check_components(components: list[str], preload: bool) -> None:
    for name in components:
        if name not in COMPONENTS:
            raise Refused(_pipeline(f"config error in Pipeline [component {name} not registered]"))
    if "file_cache" in components and "block_cache" in components:
        raise Refused("invalid pipeline components [mount: file-cache and block-cache cannot be used together]")
    if "block_cache" in components and not preload:
        raise Refused("block_cache is not available in Feedline's stand-in for BlobFuse2: use file_cache or preload")
    ranks = [COMPONENTS.index(name) for name in components]
    if ranks != sorted(ranks):
        late = next(
            b for a, b in zip(components, components[1:], strict=False) if COMPONENTS.index(b) < COMPONENTS.index(a)
        )
        raise Refused(_pipeline(f"config error in Pipeline [component {late} is out of order]"))


def _check_storage(storage: Mapping[str, Any]) -> None:
    for key, what in (("account-name", "account name"), ("container", "container name")):
        if not storage.get(key):
            raise Refused(_pipeline(f"config error in azstorage [{what} not provided]"))
    mode = str(storage.get("mode") or ("msi" if storage.get("appid") else "key")).lower()
    if mode not in ("msi", "key", "sas", "spn", "azcli", "workloadidentity"):
        raise Refused(_pipeline("config error in azstorage [invalid auth type]"))
    if mode != "msi":
        raise Refused(
            _pipeline(f"config error in azstorage [auth mode {mode} is not available in Feedline's stand-in: use msi]")
        )


def _pipeline(text: str) -> str:
    return f"failed to initialize new pipeline [{text}]"


def _section(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _blob_endpoint(url: str) -> str:
    return url.rstrip("/").replace(".dfs.", ".blob.")
