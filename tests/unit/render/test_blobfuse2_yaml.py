"""BlobFuse2 ignores keys it does not know, so the rendered ones are held to those it knows."""

from dataclasses import replace

import pytest
import yaml

from feedline.contract import Account, Identity, Mount
from feedline.render.blobfuse2_yaml import render
from feedline.tools.blobfuse2 import cache_path

ACCOUNT = Account(
    "acct",
    "/id",
    True,
    "blob",
    "https://acct.blob.core.windows.net",
    "https://acct.dfs.core.windows.net",
    "internal",
    ("training-data",),
)
IDENTITY = Identity("train", "client-1", "p", "/i", ())
MOUNT = Mount(
    "training-data",
    "/mnt/training-data",
    "acct",
    "training-data",
    "train",
    "train",
    True,
    "preload",
    "/mnt/resource/blobfuse2cache/t",
)

KNOWN = {
    "": {
        "allow-other",
        "read-only",
        "preload",
        "logging",
        "components",
        "libfuse",
        "xload",
        "file_cache",
        "attr_cache",
        "azstorage",
    },
    "logging": {"type", "level", "file-path", "max-file-size-mb", "file-count"},
    "libfuse": {"attribute-expiration-sec", "entry-expiration-sec"},
    "xload": {"path", "block-size-mb", "workers", "pool-size", "cleanup-on-start"},
    "file_cache": {"path", "timeout-sec", "max-size-mb", "cleanup-on-start"},
    "attr_cache": {"timeout-sec"},
    "azstorage": {"type", "account-name", "container", "endpoint", "mode", "appid", "block-size-mb", "max-concurrency"},
}
"""Keys read in azure-storage-fuse 2.5.6."""

FILE_CACHE = replace(MOUNT, mode="file_cache", read_only=False)


def rendered(mount: Mount = MOUNT, account: Account = ACCOUNT, disk: int = 2 << 30) -> dict:
    return yaml.safe_load(render(mount, account, IDENTITY, disk_bytes=disk, cores=2))


@pytest.mark.parametrize("mount", [MOUNT, FILE_CACHE])
def test_only_keys_that_blobfuse2_knows_are_written(mount: Mount) -> None:
    config = rendered(mount)
    assert set(config) <= KNOWN[""]
    for section, value in config.items():
        if isinstance(value, dict):
            assert set(value) <= KNOWN[section]


@pytest.mark.parametrize("mount", [MOUNT, FILE_CACHE])
def test_there_is_exactly_one_cache_and_the_order_is_the_pipelines(mount: Mount) -> None:
    assert rendered(mount)["components"] in (["libfuse", c, "attr_cache", "azstorage"] for c in ("xload", "file_cache"))


def test_a_preloaded_mount_is_read_only() -> None:
    assert rendered()["preload"] is True and rendered()["read-only"] is True


def test_the_identity_is_named_and_no_key_or_sas_is_there() -> None:
    storage = rendered()["azstorage"]
    assert storage["mode"] == "msi" and storage["appid"] == "client-1"
    assert not {"account-key", "sas", "clientsecret"} & set(storage)


def test_a_data_lake_is_mounted_by_its_own_protocol_where_the_contract_says_so() -> None:
    storage = rendered(account=replace(ACCOUNT, protocol="dfs"))["azstorage"]
    assert (storage["type"], storage["endpoint"]) == ("adls", "https://acct.dfs.core.windows.net")


def test_the_file_cache_leaves_room_on_the_disk() -> None:
    assert rendered(FILE_CACHE)["file_cache"]["max-size-mb"] == int(2048 * 0.8)


def test_the_cache_folder_can_be_read_back_from_the_text() -> None:
    assert cache_path(render(MOUNT, ACCOUNT, IDENTITY, disk_bytes=1, cores=2)) == MOUNT.cache
