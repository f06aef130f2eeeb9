"""Which sources the node image is made from, and when it is made anew."""

from pathlib import Path

import pytest

from sandbox.nodes import image
from sandbox.nodes.image import distribution_sources, image_hash
from sandbox.nodes.tools import ToolError

DEBIAN = """\
Types: deb
# a comment that says http://snapshot.debian.org
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security
Components: main
"""


def machine(tmp_path: Path, files: dict[str, str], code: str = "bookworm") -> tuple[Path, Path]:
    (tmp_path / "sources.list.d").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    release = tmp_path / "os-release"
    release.write_text(f'ID=debian\nVERSION_CODENAME="{code}"\n')
    return tmp_path, release


def test_deb822_sources_are_taken_without_their_comments(tmp_path: Path) -> None:
    text = distribution_sources(*machine(tmp_path, {"sources.list.d/debian.sources": DEBIAN}))
    assert text.count("Types: deb") == 2
    assert "snapshot" not in text


def test_one_line_sources_become_deb822_with_their_key(tmp_path: Path) -> None:
    key = "/usr/share/keyrings/ubuntu.gpg"
    line = f"deb [arch=amd64 signed-by={key}] http://archive.ubuntu.com/ubuntu noble main universe\n"
    text = distribution_sources(
        *machine(tmp_path, {"sources.list": f"# old\n{line}deb-src http://x noble main\n"}, "noble")
    )
    assert text == (
        "Types: deb\nURIs: http://archive.ubuntu.com/ubuntu\nSuites: noble\nComponents: main universe\n"
        "Signed-By: /usr/share/keyrings/ubuntu.gpg\n"
    )


def test_third_party_repositories_are_left_out(tmp_path: Path) -> None:
    files = {
        "sources.list.d/debian.sources": DEBIAN,
        "sources.list.d/node.sources": "Types: deb\nURIs: https://deb.nodesource.com\nSuites: nodistro\n",
        "sources.list.d/cloud.list": "deb https://packages.cloud.google.com/apt cloud-sdk-bookworm main\n",
    }
    text = distribution_sources(*machine(tmp_path, files))
    assert "nodesource" not in text
    assert "google" not in text


def test_a_machine_without_sources_of_its_distribution_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="names no source of this distribution"):
        distribution_sources(*machine(tmp_path, {"sources.list": "deb http://other stable main\n"}))


def test_other_sources_and_another_recipe_make_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    before = image_hash("one")
    assert image_hash("one") == before
    assert image_hash("other") != before
    monkeypatch.setattr(image, "PACKAGES", (*image.PACKAGES, "nano"))
    assert image_hash("one") != before
