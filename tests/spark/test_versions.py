"""What `make spark-versions` says of what pytest has written; without Spark, and without pip."""

from __future__ import annotations

from pathlib import Path

from tests.spark.versions import Row, counted, table

REPORT = """<testsuites><testsuite name="pytest">
<testcase classname="tests.spark.test_a" name="test_one"/>
<testcase classname="tests.spark.test_a" name="test_two">
<failure message="no">why</failure></testcase>
<testcase classname="tests.spark.test_a" name="test_three">
<error message="no">why</error></testcase>
<testcase classname="tests.spark.test_a" name="test_four">
<skipped type="pytest.skip" message="before Spark 4.2: no limits"/></testcase>
<testcase classname="tests.spark.test_a" name="test_five">
<skipped type="pytest.skip" message="before Spark 4.2: no limits"/></testcase>
</testsuite></testsuites>
"""


def test_what_passed_failed_and_was_left_out_is_counted(tmp_path: Path) -> None:
    """With names, and why."""
    report, row = tmp_path / "report.xml", Row("4.1", "4.1.4")
    report.write_text(REPORT, encoding="utf-8")
    counted(row, report)
    assert row.passed == 1
    assert row.failed == ["tests.spark.test_a::test_two", "tests.spark.test_a::test_three"]
    assert dict(row.skipped) == {"before Spark 4.2: no limits": 2}
    words = table([row]).split("\n")
    assert words[1].split() == ["4.1.4", "1", "2", "2", "0"]
    assert "  failed: tests.spark.test_a::test_two" in words
    assert words[-1] == "  2 skipped: before Spark 4.2: no limits"


def test_only_what_ran_and_passed_is_good() -> None:
    """No test at all is no success, nor is an environment that could not be made."""
    assert Row("4.1", passed=1).is_good()
    assert not Row("4.1").is_good()
    assert not Row("4.1", passed=1, failed=["x"]).is_good()
    assert not Row("4.1", passed=1, error="no such version").is_good()
    assert "4.9      not run: no such version" in table([Row("4.9", error="no such version")])
