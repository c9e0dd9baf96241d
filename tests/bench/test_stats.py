"""Medians, percentiles, ratios; against the library's histogram where it is installed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshmsg.bench.base.need import BenchError, is_there, need
from meshmsg.bench.ends.works import counted
from meshmsg.bench.measure.stats import (
    PERCENTILES,
    Interval,
    Summary,
    latency_figures,
    median_interval,
    merged,
    percentile,
    ratio,
    told,
    total_interval,
)

TIMES = st.lists(st.integers(min_value=0, max_value=10**12), min_size=1, max_size=300)


def test_a_summary_is_median_least_and_most() -> None:
    """Of odd and even numbers of rounds."""
    assert Summary.of([3.0, 1.0, 2.0]) == Summary(2.0, 1.0, 3.0)
    assert Summary.of([1.0, 2.0, 3.0, 10.0]).as_json() == {"median": 2.5, "min": 1.0, "max": 10.0}


def test_percentiles_are_values_that_so_many_do_not_pass() -> None:
    """Nearest rank."""
    pairs = [(value, 1) for value in range(1, 101)]
    assert [percentile(pairs, p) for p in (1, 50, 99, 99.1, 100)] == [1, 50, 99, 100, 100]
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 50)


@given(TIMES)
def test_counting_keeps_every_sample_to_three_digits(times: list[int]) -> None:
    """Nothing is lost, order stays, and a value is at most 0.2 % too low."""
    pairs = counted(times)
    assert pairs == sorted(pairs)
    assert sum(count for _, count in pairs) == len(times)
    exact = sorted(times)[(len(times) * 50 + 99) // 100 - 1]
    assert exact * 0.998 - 1 <= percentile(pairs, 50) <= exact


@settings(deadline=None)
@given(TIMES)
def test_percentiles_agree_with_the_histogram_library(times: list[int]) -> None:
    """Within the digits both keep; where a rank is no whole number, the library may take the one
    below."""
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    from meshmsg.bench.measure.histogram import figures_of, histogram

    pairs = counted(times)
    own, library = latency_figures(pairs), figures_of(histogram(pairs))
    assert own.keys() == library.keys()
    for name, percent in PERCENTILES.items():
        if f"{name}_us" in own:
            below = percentile(pairs, max(percent - 100 / len(times), 0)) / 1000
            high = own[f"{name}_us"]
            assert below * 0.997 - 0.002 <= library[f"{name}_us"] <= high * 1.003 + 0.002, name


def test_the_histogram_is_kept_in_the_form_other_tools_read() -> None:
    """Decoded again it holds the same."""
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    from hdrh.histogram import HdrHistogram

    from meshmsg.bench.measure.histogram import encoded, histogram

    again = HdrHistogram.decode(encoded(histogram([(1000, 3), (50_000, 1)])))
    assert again.get_total_count() == 4
    assert again.get_max_value() == pytest.approx(50_000, rel=0.001)


def test_percentiles_are_told_only_as_far_as_there_are_samples() -> None:
    """One in a million of a thousand samples is no figure."""
    assert told(99.9, 1000)
    assert not told(99.9, 999)
    assert told(99.9999, 1_000_000)
    figures = latency_figures([(1000, 1000)])
    assert "p99.9_us" in figures
    assert "p99.99_us" not in figures


def test_rounds_merge_into_one_distribution() -> None:
    """Counts of the same value add up."""
    assert merged([[(1, 2), (5, 1)], [(1, 1), (3, 4)]]) == [(1, 3), (3, 4), (5, 1)]


def test_a_ratio_is_median_by_median() -> None:
    """And none where one of them is missing."""
    own, other = {"a": {"median": 6.0}}, {"a": {"median": 3.0}}
    assert ratio(own, other, "a") == 2.0
    assert ratio(own, {}, "a") is None
    assert ratio(own, {"a": {"median": 0.0}}, "a") is None


def test_what_is_not_installed_is_named_with_the_extra_that_has_it() -> None:
    """For people."""
    assert not is_there("carrier_pigeon")
    with pytest.raises(BenchError, match=r"a letter needs carrier_pigeon: .*meshmsg\[bench\]"):
        need("carrier_pigeon", "a letter")


@pytest.mark.parametrize(
    ("count", "rank"), [(6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (100, 40), (1000, 469)]
)
def test_a_median_is_between_values_whose_ranks_are_known(count: int, rank: int) -> None:
    """Those of tables of order statistics, at 95 %."""
    values = [float(number) for number in range(1, count + 1)]
    random.Random(count).shuffle(values)
    assert median_interval(values) == Interval((count + 1) / 2, rank, count + 1 - rank)


def test_few_values_have_no_interval() -> None:
    """Of five the median of all is outside of them too often."""
    assert [median_interval([1.0] * count) for count in range(6)] == [None] * 6


def test_an_interval_holds_the_median_of_all_as_often_as_it_says() -> None:
    """Of 400 samples; it may be more often, as ranks are whole."""
    rng, held = random.Random(7), 0
    for _ in range(400):
        found = median_interval([rng.expovariate(1.0) for _ in range(30)])
        assert found is not None
        held += found.low <= 0.6931 <= found.high
    assert held >= 0.93 * 400


def test_a_ratio_of_sums_is_between_those_that_are_drawn_again() -> None:
    """Equal pairs have no doubt; one that stands out is in many of the draws, and not in others."""
    assert total_interval([(3.0, 2.0)] * 10) == Interval(1.5, 1.5, 1.5)
    found = total_interval([(1.0, 1.0)] * 19 + [(21.0, 1.0)])
    assert found.middle == 2.0
    assert found.low == 1.0
    assert 2.0 < found.high < 6.0
    assert found.as_json() == {"middle": 2.0, "low": 1.0, "high": found.high}
