"""`python -m sluice`, the `sluice` command, and what kubectl asks to complete its words."""

import sys

from sluice.cli import complete, main

__all__ = ["complete", "main"]

if __name__ == "__main__":
    sys.exit(main())
