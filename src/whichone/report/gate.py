"""The gate's report as Markdown for a pull request and as JUnit for a CI server."""

from __future__ import annotations

from xml.etree import ElementTree

from whichone.measures.gate import GateReport, describe


def markdown(report: GateReport) -> str:
    lines = [
        f"### whichone: {report.verdict}",
        "",
        f"`{report.system}` on `{report.benchmark}`, {report.name_sets} name sets",
        "",
        "| check | verdict | found |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {r['check']} | **{r['verdict']}** | {r['found']} |" for r in describe(report)]
    lines += [f"\n> {warning}" for warning in report.warnings]
    return "\n".join(lines) + "\n"


def junit(report: GateReport) -> bytes:
    """One test case a check; an undecided check is skipped, or failed when strict."""
    failed = sum(_fails(report, c.verdict) for c in report.checks)
    suite = ElementTree.Element(
        "testsuite", name="whichone", tests=str(len(report.checks)), failures=str(failed)
    )
    for check in report.checks:
        case = ElementTree.SubElement(suite, "testcase", classname=report.system, name=check.name)
        if _fails(report, check.verdict):
            ElementTree.SubElement(case, "failure", message=check.message)
        elif check.verdict == "undecided":
            ElementTree.SubElement(case, "skipped", message=f"undecided: {check.message}")
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))


def _fails(report: GateReport, verdict: str) -> bool:
    return verdict == "failed" or (report.strict and verdict == "undecided")
