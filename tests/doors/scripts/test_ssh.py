import importlib.util
import json
import shlex
import socket
import sys
from dataclasses import replace
from pathlib import Path

import paramiko
import pytest

from feedline.errors import CheckError, OperationError
from scripts import ssh
from scripts.log import Log
from scripts.places import CHECKOUT, Places
from scripts.runner import Runner, private_key
from scripts.ssh import Link, Way, jump_at, quote

_spec = importlib.util.spec_from_file_location("sshd", Path(__file__).with_name("sshd.py"))
sshd = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sshd)


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    file = tmp_path_factory.mktemp("keys") / "id"
    key = paramiko.ECDSAKey.generate()
    key.write_private_key_file(str(file))
    return key, str(file)


@pytest.fixture
def server(tmp_path, key, monkeypatch):
    server = sshd.Server(tmp_path, key[0])
    monkeypatch.setattr(ssh, "PORT", server.port)
    yield server
    server.close()


@pytest.fixture
def contract(cluster):
    nodes = tuple(replace(node, address="127.0.0.1") for node in cluster.contract.nodes)
    return replace(cluster.contract, nodes=nodes)


@pytest.fixture
def link(server, contract, key, tmp_path):
    link = Link(Way(contract, key[1], tmp_path / "known"), contract.node("gpu-0"))
    yield link
    link.close()


def test_quoting_survives_a_shell():
    words = ["a b", "$HOME", "it's", 'say "x"', "-n", "line\nbreak", "*"]
    assert shlex.split(quote(words)) == words


def test_lines_arrive_and_stdin_is_sent_whole(link):
    lines = []
    data = b"x" * 3_000_000
    finished = link.execute(["sh", "-c", "echo one; wc -c; echo two >&2; exit 3"], data, lines.append)
    assert lines == ["one", "3000000"]
    assert (finished.code, finished.errors) == (3, "two\n")


def test_much_on_stderr_does_not_stop_stdout(link):
    lines = []
    finished = link.execute(["sh", "-c", "head -c 5000000 /dev/zero >&2; echo done"], b"", lines.append)
    assert lines == ["done"] and finished.code == 0


def test_a_node_that_falls_silent_is_given_up(link):
    with pytest.raises(OperationError, match="said nothing for 0 s"):
        link.execute(["sleep", "20"], b"", lambda line: None, silence_s=0.3)


def test_the_first_contact_is_recorded_and_said(link, tmp_path, server):
    link.execute(["true"], b"", lambda line: None)
    assert link.said and "first contact" in link.said[0]
    assert (tmp_path / "known").read_text().startswith("vm-gpu-0 ")


def test_a_changed_host_key_of_the_same_vm_is_refused(link, tmp_path, key, monkeypatch, contract):
    link.execute(["true"], b"", lambda line: None)
    other = sshd.Server(tmp_path, key[0])
    monkeypatch.setattr(ssh, "PORT", other.port)
    again = Link(link.way, link.node)
    with pytest.raises(OperationError, match="host key of VM vm-gpu-0 changed") as error:
        again.execute(["true"], b"", lambda line: None)
    assert "known" in error.value.hint and not other.commands
    recreated = Link(link.way, replace(link.node, vm_id="vm-new"))
    assert recreated.execute(["true"], b"", lambda line: None).code == 0
    recreated.close()
    other.close()


def test_a_wrong_key_is_said_to_be_refused(server, contract, tmp_path):
    wrong = tmp_path / "wrong"
    paramiko.ECDSAKey.generate().write_private_key_file(str(wrong))
    with pytest.raises(OperationError, match="refused the SSH key") as error:
        Link(Way(contract, str(wrong), tmp_path / "known"), contract.node("gpu-0")).transport()
    assert "--identity" in error.value.hint


def test_a_key_file_that_is_no_key_is_named(server, contract, tmp_path):
    (tmp_path / "text").write_text("hello")
    with pytest.raises(OperationError, match="text"):
        Link(Way(contract, str(tmp_path / "text"), tmp_path / "known"), contract.node("gpu-0")).transport()


def test_a_node_that_does_not_answer_is_one_message(contract, key, tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        monkeypatch.setattr(ssh, "PORT", closed.getsockname()[1])
    with pytest.raises(OperationError, match="cannot be reached") as error:
        Link(Way(contract, key[1], tmp_path / "known"), contract.node("gpu-0")).transport()
    assert error.value.where == "gpu-0 (azureuser@127.0.0.1)" and "VPN" in error.value.hint


def test_a_proxy_command_is_used_as_it_is(server, contract, key, tmp_path):
    relay = (
        "import socket,sys,threading,os\n"
        "s=socket.create_connection(('127.0.0.1',int(sys.argv[1])))\n"
        "def up():\n"
        "    while d:=os.read(0,65536): s.sendall(d)\n"
        "    s.shutdown(1)\n"
        "threading.Thread(target=up,daemon=True).start()\n"
        "while d:=s.recv(65536): os.write(1,d)\n"
    )
    (tmp_path / "relay.py").write_text(relay)
    relay_argv = [sys.executable, str(tmp_path / "relay.py"), str(server.port)]
    command = f"{shlex.join(relay_argv)} %h %p"
    through = replace(contract, ssh=replace(contract.ssh, via="command", command=command))
    link = Link(Way(through, key[1], tmp_path / "known"), through.node("gpu-0"))
    assert link.execute(["true"], b"", lambda line: None).code == 0
    link.close()


def test_what_a_proxy_command_complains_about_is_shown(contract, key, tmp_path):
    (tmp_path / "proxy").write_text(
        "#!/bin/sh\necho 'the sandbox is not running: start it with ./run shell' >&2\nexit 1\n"
    )
    (tmp_path / "proxy").chmod(0o755)
    through = replace(contract, ssh=replace(contract.ssh, via="command", command=f"{tmp_path / 'proxy'} %h %p"))
    with pytest.raises(OperationError, match="the sandbox is not running"):
        Link(Way(through, key[1], tmp_path / "known"), through.node("gpu-0")).transport()


def test_no_sudo_is_one_message(server, contract, key, tmp_path):
    server.sudo(sshd.SUDO_NO)
    runner = Runner(contract, key[1], "me@here", Places(CHECKOUT, tmp_path), Log(tmp_path / "log"))
    with pytest.raises(OperationError, match="no sudo") as error:
        runner.call(contract.node("gpu-0"), "facts", apply=None, options={}, progress=lambda line: None)
    assert error.value.where == "gpu-0"
    runner.close()


@pytest.mark.parametrize("code, kind", [(1, OperationError), (2, CheckError)])
def test_what_a_node_could_not_do_is_said_with_its_name(server, contract, key, tmp_path, code, kind):
    line = json.dumps({"type": "error", "what": "no disk", "where": "/dev", "hint": "buy one", "exit_code": code})
    server.sudo(f"#!/bin/sh\necho '{line}'\nexit 1\n")
    runner = Runner(contract, key[1], "me@here", Places(CHECKOUT, tmp_path), Log(tmp_path / "log"))
    with pytest.raises(kind, match="no disk") as error:
        runner.call(contract.node("gpu-0"), "nvme", apply=None, options={}, progress=lambda line: None)
    assert (error.value.where, error.value.hint) == ("gpu-0: /dev", "buy one")
    runner.close()


def test_an_answer_without_a_result_is_never_taken_for_one(server, contract, key, tmp_path):
    server.sudo('#!/bin/sh\necho \'{"type":"progress","text":"x"}\'; echo oops >&2\nexit 0\n')
    runner = Runner(contract, key[1], "me@here", Places(CHECKOUT, tmp_path), Log(tmp_path / "log"))
    with pytest.raises(OperationError, match="no answer:\n    oops"):
        runner.call(contract.node("gpu-0"), "nvme", apply=None, options={}, progress=lambda line: None)
    runner.close()


def test_a_missing_private_key_is_named():
    with pytest.raises(OperationError, match="no such private key") as error:
        private_key("/nowhere/id")
    assert error.value.where == "/nowhere/id"
    assert private_key("", {}) == ""


def test_a_jump_node_behind_a_tunnel_is_reached_at_the_tunnels_near_end(server, cluster, key, tmp_path):
    jumping = replace(cluster.contract, ssh=replace(cluster.contract.ssh, via="jump", jump="ingest-0"))
    way = Way(jumping, key[1], tmp_path / "known", ("127.0.0.1", server.port))
    assert way.place(jumping.node("gpu-0"))[0] == jumping.node("gpu-0").address
    link, lines = Link(way, jumping.node("ingest-0")), []
    assert link.execute(["echo", "in"], b"", lines.append).code == 0 and lines == ["in"]
    link.close()


@pytest.mark.parametrize("text", ["127.0.0.1", "host:", ":22", "host:99999", "host:ssh"])
def test_a_near_end_that_is_none_is_told(text):
    with pytest.raises(OperationError, match="is not HOST:PORT"):
        jump_at(text)
