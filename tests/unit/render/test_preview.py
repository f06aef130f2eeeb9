"""A preview's events become a page: verdict first, what is destroyed before what is made."""

from feedline.render.preview import markdown, read

CREATE = {"resourcePreEvent": {"metadata": {"op": "create", "type": "azure-native:compute:Disk", "urn": "a::b::cache"}}}
REPLACE = {
    "resourcePreEvent": {
        "metadata": {"op": "replace", "type": "azure-native:compute:VirtualMachine", "urn": "a::gpu-0"}
    }
}
SAME = {"resourcePreEvent": {"metadata": {"op": "same", "type": "azure-native:network:Subnet", "urn": "a::b::nodes"}}}
RULE = {
    "policyEvent": {"enforcementLevel": "mandatory", "policyName": "storage-hns", "message": "flat:\n no | lake <b>\n"}
}
SAID = {"diagnosticEvent": {"severity": "info#err", "message": "feed plan: 1 GB/s\n"}}
DEBUG = {"diagnosticEvent": {"severity": "debug", "message": "beginning rpc"}}
END = {"summaryEvent": {"resourceChanges": {"create": 1, "replace": 1}, "result": "succeeded"}}


def test_a_preview_tells_its_verdict_its_counts_and_what_it_replaces_first() -> None:
    page = markdown("prod", read([CREATE, SAME, DEBUG, REPLACE, SAID, END]))
    assert page.startswith("## prod: succeeded\n\n1 create, 1 replace\n")
    assert "- feed plan: 1 GB/s" in page and "beginning rpc" not in page and "nodes" not in page
    assert page.index("gpu-0") < page.index("cache")


def test_a_mandatory_policy_makes_it_a_refusal_whatever_the_engine_says() -> None:
    found = read([RULE, END])
    assert found.refused and "refused by policy" in markdown("prod", found)


def test_no_text_of_a_rule_breaks_the_page() -> None:
    assert "- **storage-hns** flat: no \\| lake &lt;b>" in markdown("prod", read([RULE, END]))


def test_a_preview_that_did_not_end_is_not_a_success() -> None:
    assert read([CREATE]).result == "it did not end"
