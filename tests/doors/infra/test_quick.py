"""Aliases of old API versions are left out; those that somebody gives stay."""

import pulumi

from infra.quick import _without


def left(*aliases: pulumi.Alias | str) -> list[object] | None:
    args = pulumi.ResourceTransformationArgs(
        object(),  # type: ignore[arg-type]
        "azure-native:network:NetworkInterface",
        "nic",
        {"a": 1},
        pulumi.ResourceOptions(aliases=list(aliases), delete_before_replace=True),
    )
    result = _without(args)
    if result is None:
        return None
    assert result.props == {"a": 1} and result.opts.delete_before_replace is True
    return list(result.opts.aliases or [])


def test_types_of_api_versions_are_left_out() -> None:
    assert left(pulumi.Alias(type_="azure-native:network/v20150501preview:NetworkInterface")) == []


def test_aliases_that_somebody_gave_stay() -> None:
    ours = [
        pulumi.Alias(name="old-name"),
        pulumi.Alias(name="old-name", type_="azure-native:network:NetworkInterface"),
        pulumi.Alias(type_="feedline:lake:Lake"),
        "urn:pulumi:dev::feedline::azure-native:network:NetworkInterface::x",
    ]
    assert left(*ours) == ours


def test_a_resource_without_aliases_is_left_alone() -> None:
    assert left() is None
