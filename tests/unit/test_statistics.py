"""Percentiles by nearest rank."""

from feedline.statistics import percentiles


def test_a_percentile_is_a_measured_value() -> None:
    found = percentiles([float(n) for n in range(1, 201)])
    assert (found["p50"], found["p95"], found["p99"], found["max"], found["n"]) == (100.0, 190.0, 198.0, 200.0, 200.0)


def test_quantiles_that_so_few_samples_cannot_carry_are_left_out() -> None:
    assert set(percentiles([1.0, 2.0, 3.0])) == {"p50", "max", "n"}


def test_no_samples_give_no_percentiles() -> None:
    assert percentiles([]) == {"n": 0.0}
