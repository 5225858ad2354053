"""The comparison with the released program's files is written for DuckDB, and used for Spark too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "papers" / "amber"))
