"""The entry of the packed file."""

import sys

from sluice.agent import launcher

if __name__ == "__main__":
    launcher.main(sys.argv[1:])
