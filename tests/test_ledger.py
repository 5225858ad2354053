"""The ledger of bench/: rows of what failed or took too long, rows kept of an interrupted one, and what moved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent / "bench"
PROGRAM = """
import sys; sys.path.insert(0, {bench!r})
import ledger
from pathlib import Path

ledger.HERE = Path({place!r})
ledger.last_one = lambda: {{"sound": {{"value": 3.0}}, "pair": {{"value": 4.0}}}}
ledger.ENTRIES = [
    ledger.Entry("sound", [], [
        ledger.Line("sound", r"ratio " + ledger._NUMBER), ledger.Line("pair", r"(\\d,\\d+) of (\\d+)"),
    ]),
    ledger.Entry("other", [], [ledger.Line("absent", "no figure ([0-9])")]),
    ledger.Entry("broken", [], [ledger.Line("broken", "(.)")]),
    ledger.Entry("slow", [], [ledger.Line("slow", "(.)")], limit=1),
]
ledger.main()
"""


def test_a_ledger_goes_to_its_end_and_goes_on_where_it_was(tmp_path: Path) -> None:
    count = f"open({str(tmp_path / 'count')!r}, 'a').write('x')\n"
    (tmp_path / "sound.py").write_text(count + "print('ratio 2.0\\n4,000 of 1000')")
    (tmp_path / "other.py").write_text("print('nothing')")
    (tmp_path / "broken.py").write_text("raise SystemExit('no such table')")
    left = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    (tmp_path / "slow.py").write_text(f"import subprocess, sys, time\n{left}time.sleep(60)")
    program = PROGRAM.format(bench=str(BENCH), place=str(tmp_path))
    for _ in range(2):
        command = [sys.executable, "-c", program, "--into", str(tmp_path), "--resume"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=50, env=dict(os.environ))
        assert done.returncode == 0, done.stderr
        (tmp_path / "other.py").write_text("print('no figure 7')")
    rows = json.loads((tmp_path / "ledger.json").read_text())
    assert [rows[name]["value"] for name in ("sound", "pair", "absent")] == [2.0, 4.0, 7.0]
    assert [rows[name]["problem"] for name in ("sound", "broken", "slow")] == [
        "", "failed: no such table", "longer than 1 s",
    ]  # fmt: skip
    assert (
        "moved by more than a fifth: sound: 3.00 -> 2.00" in done.stdout and "fifth: pair" not in done.stdout
    )
    assert "| broken | failed: no such table |" in (tmp_path / "ledger.md").read_text()
    assert (tmp_path / "count").read_text() == "x"  # kept; what had no figure was asked again
