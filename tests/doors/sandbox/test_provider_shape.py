"""azure-native's flat properties and ARM's bodies, turned into each other."""

from sandbox.provider.difference import changes
from sandbox.provider.model import MODEL, find
from sandbox.provider.shape import drifted, from_arm, resource_id, to_arm

NIC = find("azure-native:network:NetworkInterface")
ACCOUNT = find("azure-native:storage:StorageAccount")
assert NIC and ACCOUNT


def test_the_id_is_made_of_the_path_inputs() -> None:
    inputs = {"resourceGroupName": "rg", "accountName": "lake01"}
    assert resource_id(ACCOUNT, inputs, "s").endswith(
        "/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/lake01"
    )


def test_nested_items_get_and_lose_their_properties() -> None:
    inputs = {
        "resourceGroupName": "rg",
        "networkInterfaceName": "n",
        "location": "x",
        "ipConfigurations": [{"name": "p", "subnet": {"id": "s"}}],
    }
    body = to_arm(NIC, inputs)
    assert body == {
        "location": "x",
        "properties": {"ipConfigurations": [{"name": "p", "properties": {"subnet": {"id": "s"}}}]},
    }
    assert from_arm(body)["ipConfigurations"] == [{"name": "p", "subnet": {"id": "s"}}]


def test_identities_go_in_as_a_list_and_come_out_as_a_map() -> None:
    body = to_arm(ACCOUNT, {"identity": {"type": "UserAssigned", "userAssignedIdentities": ["/i"]}})
    assert body["identity"]["userAssignedIdentities"] == {"/i": {}}


def test_what_arm_does_not_answer_is_kept_and_what_drifted_is_taken() -> None:
    inputs = {"osProfile": {"customData": "x", "adminUsername": "a"}, "tags": {"k": "old"}}
    assert drifted(inputs, {"osProfile": {"adminUsername": "a"}, "tags": {"k": "new"}}) == {
        "osProfile": {"customData": "x", "adminUsername": "a"},
        "tags": {"k": "new"},
    }


def test_a_changed_leaf_is_named_by_its_path_and_a_fixed_one_replaces() -> None:
    found = changes(
        ACCOUNT, {"isHnsEnabled": True, "sku": {"name": "a"}}, {"isHnsEnabled": False, "sku": {"name": "b"}}, []
    )
    assert [(c.path, c.replaces) for c in found] == [("isHnsEnabled", True), ("sku.name", False)]


def test_ignored_paths_are_no_changes() -> None:
    assert changes(ACCOUNT, {"tags": {"a": "1"}}, {"tags": {"a": "2"}}, ["tags"]) == []


def test_every_row_names_itself_in_its_path() -> None:
    assert [token for token, row in MODEL.items() if row.name not in row.path_inputs] == []
