"""One customData for Azure and for a rehearsal; it says how far it came, and holds no secret."""

import re

import pytest
import yaml

from feedline.render.cloud_init import MAX_BYTES, custom_data
from feedline.settings import Packages

SANDBOX = Packages("deb [trusted=yes] http://packages.feedline.internal/ ./")
AZURE = Packages(
    "deb https://packages.microsoft.com/ubuntu/24.04/prod noble main",
    signing_key="-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n",
)


def script(packages: Packages) -> str:
    document = yaml.safe_load(custom_data(packages, "train"))
    return next(f["content"] for f in document["write_files"] if f["path"].endswith("feedline-first-boot"))


def test_it_is_cloud_config_and_fits_azures_limit() -> None:
    text = custom_data(AZURE, "train")
    assert text.startswith("#cloud-config\n") and len(text.encode()) <= MAX_BYTES


def test_too_long_a_key_is_refused_with_the_limit() -> None:
    with pytest.raises(ValueError, match="65536"):
        custom_data(Packages("deb x", signing_key="k" * MAX_BYTES), "train")


def test_each_stage_is_noted_and_complete_comes_last() -> None:
    stages = re.findall(r"^stage (\w+)$", script(SANDBOX), re.MULTILINE)
    assert stages == ["started", "sources", "packages", "fuse", "complete"]


def test_a_failing_command_ends_the_script_before_the_next_stage() -> None:
    assert "set -eu" in script(SANDBOX)


def test_only_the_package_source_differs_between_azure_and_a_rehearsal() -> None:
    assert script(SANDBOX) == script(AZURE)


def test_passwords_and_root_logins_are_off() -> None:
    document = yaml.safe_load(custom_data(SANDBOX, "train"))
    assert document["ssh_pwauth"] is False and document["disable_root"] is True


def test_nothing_in_it_looks_like_a_secret() -> None:
    assert not re.search(r"PRIVATE KEY|AccountKey=|sig=|password:", custom_data(AZURE, "train"))


def test_kernel_and_drivers_are_held_with_what_was_installed() -> None:
    text = custom_data(Packages("deb x y ./", held=True), "train")
    assert "apt-mark hold azcopy blobfuse2" in text and "'linux-image-*'" in text and "'nvidia-*'" in text
    assert "apt-mark" not in custom_data(Packages("deb x y ./", held=False), "train")
