import json
from dataclasses import replace

import pytest

from feedline.errors import OperationError
from scripts import inventory
from scripts.arguments import Arguments
from scripts.inventory import load, select


def names(nodes):
    return [node.name for node in nodes]


def a_pulumi(tmp_path, monkeypatch, script):
    (tmp_path / "pulumi").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_patterns_and_roles_narrow_the_nodes(cluster):
    contract = cluster.contract
    assert names(select(contract, Arguments())) == ["ingest-0", "gpu-0", "gpu-1"]
    assert names(select(contract, Arguments(nodes="gpu-[0-3]"))) == ["gpu-0", "gpu-1"]
    assert names(select(contract, Arguments(nodes="gpu-1, ingest-0"))) == ["ingest-0", "gpu-1"]
    assert names(select(contract, Arguments(role="train"))) == ["gpu-0", "gpu-1"]
    assert names(select(contract, Arguments(), ["train"])) == ["gpu-0", "gpu-1"]


@pytest.mark.parametrize(
    "arguments, roles, text",
    [
        (Arguments(nodes="gpu-7"), (), "no node matches 'gpu-7'"),
        (Arguments(nodes=" , "), (), "no node matches"),
        (Arguments(role="serve"), (), "no node has role 'serve'"),
        (Arguments(nodes="ingest-0"), ("train",), "no node of role train is selected"),
    ],
)
def test_a_selection_of_nothing_is_refused_and_names_what_there_is(cluster, arguments, roles, text):
    with pytest.raises(OperationError, match=text) as error:
        select(cluster.contract, arguments, roles)
    assert "gpu-0" in error.value.hint or "ingest, train" in error.value.hint


def test_a_contract_is_read_from_a_file(cluster, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(cluster.contract.as_dict()))
    assert load(Arguments(contract=str(tmp_path / "c.json")), {}) == cluster.contract


@pytest.mark.parametrize(
    "content, text",
    [(b"{", "not JSON"), (b"[]", "not a JSON object"), (b'{"version": 2}', "version 2"), (b"\xff\xfe", "not text")],
)
def test_a_file_that_is_no_contract_is_named(tmp_path, content, text):
    (tmp_path / "c.json").write_bytes(content)
    with pytest.raises(OperationError, match=text) as error:
        load(Arguments(contract=str(tmp_path / "c.json")), {})
    assert error.value.where == str(tmp_path / "c.json") and error.value.hint


def test_all_five_mistakes_of_a_contract_are_shown_at_once(cluster, tmp_path):
    raw = cluster.contract.as_dict()
    raw["nodes"][0]["role"] = 7
    del raw["nodes"][1]["address"]
    raw["workload"]["batch"] = "many"
    raw["surprise"] = 1
    raw["ssh"] = None
    (tmp_path / "c.json").write_text(json.dumps(raw))
    with pytest.raises(OperationError, match="5 problems"):
        load(Arguments(contract=str(tmp_path / "c.json")), {})


def test_no_cluster_and_two_clusters_are_refused():
    with pytest.raises(OperationError, match="no cluster is named"):
        load(Arguments(), {})
    with pytest.raises(OperationError, match="both"):
        load(Arguments(stack="a", contract="b"), {})


def test_the_stack_is_read_with_pulumi_and_a_quoted_output_too(cluster, tmp_path, monkeypatch):
    text = json.dumps(cluster.contract.as_dict())
    (tmp_path / "out").write_text(json.dumps(text))
    a_pulumi(tmp_path, monkeypatch, f'[ "$6" = --stack ] || exit 9; [ "$7" = mine ] || exit 8; cat {tmp_path}/out')
    # argv: stack output contract --json --stack NAME --non-interactive
    a_pulumi(tmp_path, monkeypatch, f'[ "$5 $6" = "--stack mine" ] && cat {tmp_path}/out')
    assert load(Arguments(), {"FEEDLINE_STACK": "mine"}) == cluster.contract
    (tmp_path / "out").write_text(text)
    assert load(Arguments(stack="mine"), {}) == cluster.contract


def test_what_pulumi_says_is_shown_with_what_to_do(tmp_path, monkeypatch):
    a_pulumi(tmp_path, monkeypatch, "echo \"error: no stack named 'nope' found\" >&2; exit 255")
    with pytest.raises(OperationError, match="no stack named 'nope' found") as error:
        load(Arguments(stack="nope"), {})
    assert error.value.where == "stack nope" and "pulumi stack ls" in error.value.hint


def test_a_machine_without_pulumi_is_told_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OperationError, match="not on PATH") as error:
        load(Arguments(stack="mine"), {})
    assert "--contract FILE" in error.value.hint


def test_a_pulumi_that_hangs_is_given_up(tmp_path, monkeypatch):
    a_pulumi(tmp_path, monkeypatch, "exec sleep 5")
    monkeypatch.setattr(inventory, "PULUMI_PATIENCE_S", 0.2)
    with pytest.raises(OperationError, match="did not answer"):
        load(Arguments(stack="mine"), {})


def test_the_lock_is_kept_by_the_ingest_node_or_else_the_first(cluster):
    from scripts.gate import lock_keeper

    assert lock_keeper(cluster.contract).name == "ingest-0"
    assert lock_keeper(replace(cluster.contract, nodes=cluster.contract.nodes[1:])).name == "gpu-0"
