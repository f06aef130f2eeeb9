"""The virtual environment is made anew exactly when what it should hold has changed."""

import pytest

from toolchain import python_deps

PROJECT = '[project]\nname = "x"\ndependencies = ["a"]\n[tool.ruff]\nline-length = 100\n'


@pytest.fixture
def synced(context, monkeypatch):
    """A checkout with a lock, and the list of syncs that were made."""
    (context.checkout / "uv.lock").write_text("1")
    (context.checkout / "pyproject.toml").write_text(PROJECT)
    made = []

    def sync(context):
        made.append(1)
        context.python.write_text("")

    monkeypatch.setattr(python_deps, "_sync", sync)
    monkeypatch.setattr(python_deps, "_compile_own", lambda context: None)
    return made


def change(context, name, old, new):
    path = context.checkout / name
    path.write_text(path.read_text().replace(old, new))


def test_a_second_setup_installs_nothing(context, synced):
    python_deps.ensure(context)
    python_deps.ensure(context)
    assert len(synced) == 1


@pytest.mark.parametrize(("name", "old", "new"), [("uv.lock", "1", "2"), ("pyproject.toml", '"a"', '"b"')])
def test_a_changed_lock_or_dependency_is_installed(context, synced, name, old, new):
    python_deps.ensure(context)
    change(context, name, old, new)
    python_deps.ensure(context)
    assert len(synced) == 2


def test_a_changed_linter_setting_is_nothing_to_install(context, synced):
    python_deps.ensure(context)
    change(context, "pyproject.toml", "100", "120")
    python_deps.ensure(context)
    assert len(synced) == 1


def test_a_venv_whose_python_has_gone_is_made_anew(context, synced):
    python_deps.ensure(context)
    context.python.unlink()
    python_deps.ensure(context)
    assert len(synced) == 2


def test_a_sync_that_was_killed_is_done_again(context, synced, monkeypatch):
    def killed(context):
        context.python.write_text("")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(python_deps, "_sync", killed)
        python_deps.ensure(context)
    python_deps.ensure(context)
    assert len(synced) == 1
