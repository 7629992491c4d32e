"""Write the chart's dashboards, or check that they are what this package says."""

import argparse
import sys
from pathlib import Path

from dashboards.drawing import drawn
from dashboards.fleet import FLEET
from dashboards.job import JOB
from dashboards.operator import OPERATOR

FOLDER = Path(__file__).resolve().parents[1] / "charts/sluice/dashboards"
ALL = (FLEET, JOB, OPERATOR)


def main() -> int:
    """Give 1 if a file is not up to date."""
    parser = argparse.ArgumentParser(prog="python -m dashboards", description=__doc__)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--write", action="store_true", help="write the dashboards")
    how.add_argument("--check", action="store_true", help="fail if a file would be another")
    options = parser.parse_args()
    texts = {FOLDER / f"{page.name}.json": drawn(page) for page in ALL}
    if options.write:
        return _write(texts)
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        sys.stderr.write(f"{path.name} is not what the code says; run `make generate`\n")
    return 1 if stale else 0


def _write(texts: dict[Path, str]) -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
