"""The entry of the packed file: the program under the agent, or the process that holds its Lease."""

import sys

from sluice.agent import keeper, launcher

if __name__ == "__main__":
    if sys.argv[1:] == ["--keep-lease"]:
        keeper.main()
    else:
        launcher.main(sys.argv[1:])
