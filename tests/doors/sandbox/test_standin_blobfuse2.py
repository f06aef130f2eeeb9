"""The stand-in answers as BlobFuse2 2.5.6 did, case by case, as far as no mount and no network are needed."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.standins.blobfuse2 import main, settings
from sandbox.standins.blobfuse2.storage import StorageError

CASES = Path(__file__).parents[2] / "fixtures" / "blobfuse2-2.5.6"
CONFIGURATION = [
    "account-missing",
    "both-caches",
    "cache-path-not-empty",
    "component-unknown",
    "config-missing",
    "container-missing",
    "http-bearer",
    "mode-wrong",
    "mountpoint-missing",
    "preload",
    "preload-block-cache",
]
SERVICE = {
    "container-absent": StorageError(404, "ContainerNotFound"),
    "firewall-denied": StorageError(403, "AuthorizationFailure"),
    "rbac-denied": StorageError(403, "AuthorizationPermissionMismatch"),
}


def case(name: str) -> dict[str, Any]:
    return json.loads((CASES / f"{name}.json").read_text())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("mnt", "cache"):
        (tmp_path / name).mkdir()
    return tmp_path


def replay(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a case's mount in `folder`, where the capture had /W; return (exit code, stdout, stderr) with /W put back."""
    known = case(name)
    if "config" in known:
        (folder / "c.yaml").write_text(known["config"].replace("/W", str(folder)))
    code = main.main([word.replace("/W", str(folder)) for word in known["mount"]["argv"][1:]])
    said = capsys.readouterr()
    return code, said.out.replace(str(folder), "/W"), said.err.replace(str(folder), "/W")


@pytest.mark.parametrize("name", CONFIGURATION)
def test_a_configuration_mistake_is_refused_in_the_real_programs_words(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "cache-path-not-empty":
        (folder / "cache" / "old").write_text("x")
    if name == "mountpoint-missing":
        (folder / "mnt").rmdir()
    code, out, err = replay(name, folder, capsys)
    assert (code, err) == (1, case(name)["mount"]["stderr"])
    assert "initializePlugins: No plugins to load." in out


@pytest.mark.parametrize("name", sorted(SERVICE))
def test_a_refusal_of_the_service_ends_the_mount_in_the_real_programs_words(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def probe(self: object) -> None:
        raise SERVICE[name]

    monkeypatch.setattr(main.Container, "probe", probe)
    code, _, err = replay(name, folder, capsys)
    assert (code, err) == (1, case(name)["mount"]["stderr"])


def test_a_file_that_is_no_yaml_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = replay("config-not-yaml", folder, capsys)
    assert code == 1 and err.startswith("Error: invalid config file [While parsing config: yaml: ")


def resolved(name: str, **flags: object) -> settings.Options:
    import yaml

    return settings.resolve("/W/mnt", yaml.safe_load(case(name)["config"]), flags)


def test_unknown_keys_pass_without_a_word() -> None:
    assert resolved("unknown-key").account == "acct1"


def test_preload_by_key_or_by_flag_is_read_only_and_takes_the_file_caches_folder() -> None:
    for options in (resolved("preload-key"), resolved("preload-flag", preload=True)):
        assert options.preload and options.read_only and options.cache == "/W/cache"


def test_block_cache_is_refused_as_not_available() -> None:
    with pytest.raises(settings.Refused, match="not available in Feedline's stand-in"):
        resolved("block-cache")


def test_a_pipeline_without_storage_resolves_as_in_the_real_program() -> None:
    assert not resolved("no-azstorage").with_storage


def test_cleanup_on_start_empties_the_folder_before_it_is_looked_at(folder: Path) -> None:
    (folder / "cache" / "left" / "over").mkdir(parents=True)
    (folder / "cache" / "left" / "file").write_text("x")
    options = settings.resolve(
        str(folder / "mnt"),
        {
            "file_cache": {"path": str(folder / "cache"), "cleanup-on-start": True},
            "components": ["libfuse", "file_cache"],
        },
        {},
    )
    settings.prepare_cache(options)
    assert list((folder / "cache").iterdir()) == []


def test_the_version_names_the_stand_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--version"]) == 0
    assert capsys.readouterr().out.splitlines() == ["blobfuse2 version 2.5.6", "Feedline's stand-in, for rehearsals"]
