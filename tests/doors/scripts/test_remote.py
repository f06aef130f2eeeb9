"""The small programs that run on a node, run here as they are sent: as the text of `python3 -I -c`."""

import json
import os
import platform
import subprocess
import sys
import time

import pytest

from feedline.names import BUNDLE_FOLDER
from scripts import remote
from scripts.bundle import Bundle, requirements

TAG = f"{sys.version_info[0]}.{sys.version_info[1]}-{platform.machine()}"
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="bundles belong to root, and this is not root")


def python(program, *arguments, folder=None):
    """The command for a node, without sudo and with this Python; `folder` replaces the lock's place."""
    words = list(remote.argv(program, arguments))[2:]
    words[0] = sys.executable
    if folder:
        words[3] = words[3].replace("/var/lib/feedline/lock", str(folder))
    return words


def a_bundle(tmp_path, text="import sys; print('entered', sys.argv[1])\n", tag=TAG):
    import hashlib

    (tmp_path / "main.py").write_text(text)
    listing = f"{hashlib.sha256(text.encode()).hexdigest()}  node/__main__.py\n"
    return Bundle(
        hashlib.sha256(listing.encode()).hexdigest(), tag, listing, {"node/__main__.py": tmp_path / "main.py"}
    )


def enter_argv(folder, bundle, verb):
    words = python("enter", str(folder), bundle.id, bundle.tag, verb)
    words[3] = words[3].replace("/run/feedline-node.lock", f"{folder}.lock")
    return words


def enter(folder, bundle, verb="facts"):
    return subprocess.run(enter_argv(folder, bundle, verb), capture_output=True, text=True, check=False)


def unpack(folder, bundle, data=None):
    argv = python("unpack", str(folder), bundle.id)
    return subprocess.run(argv, input=data or bundle.archive(), capture_output=True, check=False)


@root_only
def test_a_bundle_is_asked_for_sent_once_and_entered(tmp_path):
    bundle, folder = a_bundle(tmp_path), tmp_path / "opt" / "b"
    asked = enter(folder, bundle)
    assert asked.returncode == 66 and json.loads(asked.stdout)["tag"] == TAG
    assert unpack(folder, bundle).returncode == 0
    assert enter(folder, bundle).stdout == "entered facts\n"
    assert [path.name for path in folder.parent.iterdir()] == ["b"]


@root_only
@pytest.mark.parametrize("damage", ["content", "list", "mode", "python"])
def test_a_bundle_that_is_not_exactly_what_was_sent_is_not_entered(tmp_path, damage):
    bundle, folder = a_bundle(tmp_path), tmp_path / "opt" / "b"
    unpack(folder, bundle)
    if damage == "content":
        (folder / "node/__main__.py").write_text("print('evil')\n")
    elif damage == "list":
        (folder / "FILES").write_text("")
    elif damage == "mode":
        folder.chmod(0o777)
    else:
        bundle = Bundle(bundle.id, "3.9-sparc", bundle.listing, bundle.files)
    asked = enter(folder, bundle)
    assert asked.returncode == 66 and "entered" not in asked.stdout and json.loads(asked.stdout)["why"]


@root_only
def test_an_archive_that_is_not_the_named_bundle_is_refused_whole(tmp_path):
    bundle, folder = a_bundle(tmp_path), tmp_path / "opt" / "b"
    other = a_bundle(tmp_path, "print('other')\n")
    assert b"refused" in unpack(folder, bundle, other.archive()).stderr
    assert not folder.exists() and not list(folder.parent.iterdir())


@root_only
def test_an_archive_that_climbs_out_is_refused(tmp_path):
    import io
    import tarfile

    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("../evil"), io.BytesIO())
    bundle, folder = a_bundle(tmp_path), tmp_path / "opt" / "b"
    assert b"not a plain file below" in unpack(folder, bundle, raw.getvalue()).stderr
    assert not (tmp_path / "evil").exists()


def test_the_same_files_make_the_same_archive_at_another_time(tmp_path):
    first = a_bundle(tmp_path).archive()
    os.utime(tmp_path / "main.py", (1, 1))
    assert a_bundle(tmp_path).archive() == first
    assert a_bundle(tmp_path).folder.startswith(f"{BUNDLE_FOLDER}/")


def test_the_sdk_is_asked_for_by_version_and_hash_with_all_it_needs():
    import tomllib

    from scripts.places import CHECKOUT

    text = requirements(tomllib.loads((CHECKOUT / "uv.lock").read_text()))
    heads = [line.split("==")[0] for line in text.splitlines() if "==" in line]
    assert {"azure-identity", "azure-storage-blob", "azure-core", "msal", "cryptography", "requests"} <= set(heads)
    assert not {"pulumi", "fabric", "rich"} & set(heads)
    blocks = text.strip().replace(" \\\n", " ").splitlines()
    assert all("--hash=sha256:" in block for block in blocks)


class Holder:
    def __init__(self, folder, take=False):
        self.process = subprocess.Popen(
            python("lock", folder=folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        said = {"who": f"me-{self.process.pid}", "why": "test", "since": "now", "break": take}
        self.process.stdin.write(json.dumps(said) + "\n")
        self.process.stdin.flush()
        self.lines = [json.loads(self.process.stdout.readline())]
        if self.lines[-1]["type"] == "taken":
            self.lines.append(json.loads(self.process.stdout.readline()))

    @property
    def said(self):
        return [line["type"] for line in self.lines]

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(5)


def test_a_lock_is_held_until_stdin_ends_and_names_its_holder_meanwhile(tmp_path):
    folder = tmp_path / "lib" / "lock"
    first = Holder(folder)
    assert first.said == ["locked"]
    second = Holder(folder)
    assert second.said == ["held"] and second.lines[0]["holder"]["who"] == f"me-{first.process.pid}"
    assert second.end() == 75
    assert first.end() == 0 and not folder.exists()
    third = Holder(folder)
    assert third.said == ["locked"]
    third.end()


def test_the_lock_of_a_killed_holder_is_taken_over_and_said(tmp_path):
    folder = tmp_path / "lock"
    first = Holder(folder)
    first.process.kill()
    first.end()
    assert folder.exists()
    second = Holder(folder)
    assert second.said == ["taken", "locked"] and second.lines[0]["alive"] is False
    second.end()


def test_a_broken_lock_stays_with_whoever_broke_it(tmp_path):
    folder = tmp_path / "lock"
    first = Holder(folder)
    second = Holder(folder, take=True)
    assert second.said == ["taken", "locked"] and second.lines[0]["alive"] is True
    first.end()
    assert folder.exists(), "the old holder must not remove a lock that is not its own any more"
    second.end()
    assert not folder.exists()


def test_of_many_that_ask_at_once_one_gets_the_lock(tmp_path):
    holders = [
        subprocess.Popen(
            python("lock", folder=tmp_path / "lock"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    for number, holder in enumerate(holders):
        holder.stdin.write(json.dumps({"who": str(number), "why": "race", "since": "now"}) + "\n")
        holder.stdin.flush()
    said = [json.loads(holder.stdout.readline())["type"] for holder in holders]
    assert sorted(said) == ["held"] * 5 + ["locked"]
    for holder in holders:
        holder.stdin.close()
        holder.stdout.close()
        holder.wait(5)


def test_shards_are_the_same_bytes_every_time_and_made_once(tmp_path):
    for folder in ("a", "b"):
        subprocess.run(python("shards", str(tmp_path / folder), "2", "100000"), check=True, capture_output=True)
    first = (tmp_path / "a" / "shard-00001.bin").read_bytes()
    assert first == (tmp_path / "b" / "shard-00001.bin").read_bytes() and len(first) == 100000
    before = (tmp_path / "a" / "shard-00000.bin").stat().st_mtime_ns
    time.sleep(0.01)
    again = subprocess.run(
        python("shards", str(tmp_path / "a"), "2", "100000"), check=True, capture_output=True, text=True
    )
    assert "0 of them new" in again.stdout and (tmp_path / "a" / "shard-00000.bin").stat().st_mtime_ns == before


@root_only
def test_two_programs_that_measure_or_change_never_run_at_once_on_a_node(tmp_path):
    text = "import sys\nprint('entered', flush=True)\nsys.stdin.read()\n"
    bundle, folder = a_bundle(tmp_path, text), tmp_path / "opt" / "b"
    unpack(folder, bundle)

    def start(verb):
        argv = enter_argv(folder, bundle, verb)
        return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    first = start("validate")
    assert first.stdout.readline() == "entered\n"
    second, asking = start("cache"), start("facts")
    assert asking.stdout.readline() == "entered\n", "asking for facts disturbs nobody"
    waiting = json.loads(second.stdout.readline())
    assert waiting["text"] == f"waiting for validate (process {first.pid}) of an earlier run"
    first.stdin.close()
    while (line := second.stdout.readline()) != "entered\n":
        assert json.loads(line)["type"] == "progress"
    for process in (first, second, asking):
        process.stdin.close()
        process.stdout.close()
        process.wait(5)
