"""The gate's report as Markdown for a pull request and as JUnit for a CI server."""

from __future__ import annotations

from xml.etree import ElementTree

from whichone.measures.gate import GateReport, describe, figures_line
from whichone.measures.worst import mistake_rows


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
    if report.figures:
        lines += ["", figures_line(report)]
    if report.worst:
        rows = mistake_rows(report.worst)
        lines += ["", "| " + " | ".join(rows[0]) + " |", "| --- " * len(rows[0]) + "|"]
        lines += ["| " + " | ".join(map(_cell, row.values())) + " |" for row in rows]
    lines += [f"\n> {warning}" for warning in report.warnings]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def junit(report: GateReport) -> bytes:
    """One test case a check; an undecided check is skipped, or failed when strict."""
    failed = sum(_fails(report, c.verdict) for c in report.checks)
    suite = ElementTree.Element(
        "testsuite", name="whichone", tests=str(len(report.checks)), failures=str(failed)
    )
    for check in report.checks:
        case = ElementTree.SubElement(suite, "testcase", classname=report.system, name=check.name)
        if _fails(report, check.verdict):
            failure = ElementTree.SubElement(case, "failure", message=printable(check.message))
            failure.text = "\n".join(printable(str(m)) for m in report.worst)
        elif check.verdict == "undecided":
            ElementTree.SubElement(case, "skipped", message=f"undecided: {check.message}")
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))


def printable(text: str) -> str:
    """Without the control characters that no XML file may contain."""
    return "".join(c if c.isprintable() else " " for c in text)


def _fails(report: GateReport, verdict: str) -> bool:
    return verdict == "failed" or (report.strict and verdict == "undecided")
