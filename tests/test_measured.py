"""What bench/measured.py counts: the processor time of a command and of all that it started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent / "bench"
SPIN = "import time\nuntil = time.process_time() + 0.3\nwhile time.process_time() < until: pass"
WORKERS = f"""
import multiprocessing, subprocess, sys, time

def spin(_):
    until = time.process_time() + 0.3
    while time.process_time() < until: pass

if __name__ == "__main__":
    with multiprocessing.get_context("forkserver").Pool(2) as pool:
        pool.map(spin, range(2), chunksize=1)
    subprocess.Popen([sys.executable, "-c", {SPIN!r}])  # goes on after its parent has ended
"""


def test_the_time_of_workers_and_of_what_is_left_behind_is_counted(tmp_path: Path) -> None:
    command = tmp_path / "workers.py"
    command.write_text(WORKERS)
    program = (
        f"import subprocess, sys; sys.path.insert(0, {str(BENCH)!r})\n"
        "from measured import measure, timed\n"
        f"print(timed(lambda: subprocess.run([sys.executable, {str(command)!r}], check=True))[1])\n"
        f"print(measure([sys.executable, {str(command)!r}]).cpu)\n"
        "import multiprocessing\n"
        "pool = multiprocessing.get_context('forkserver').Pool\n"
        "def work():\n"
        f"    with pool(2) as workers: workers.map(exec, [{SPIN!r}] * 3, chunksize=1)\n"
        "print(timed(work)[1])  # its server would go on until this process ends"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert all(float(spent) >= 0.9 for spent in done.stdout.split()), done.stdout
