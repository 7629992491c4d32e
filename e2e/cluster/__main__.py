"""The command line of the local cluster: `python3 -m e2e.cluster up`, and the rest of its life."""

import argparse
import os
import sys

from e2e.cluster import build, faults, layout
from e2e.cluster.commands import COMMANDS, Context
from e2e.cluster.errors import ClusterError
from e2e.cluster.progress import Progress

# No argument starts with this, so everything after the command is taken as it is.
NO_OPTIONS = "\0"


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(prog="python3 -m e2e.cluster", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="bring up the cluster, or repair it")
    sizes = range(1, layout.MAX_NODES + 1)
    up.add_argument("--nodes", type=int, choices=sizes, help="2 by default; a cluster only grows")
    commands.add_parser("down", help="remove it and all that it made, except what was built")
    commands.add_parser("status", help="show machines, programs, nodes, and how to use it")
    commands.add_parser("kubeconfig", help="print the kubeconfig's path")
    commands.add_parser("env", help="print the shell's export lines of KUBECONFIG and PATH")
    for client in ("kubectl", "helm"):
        own = commands.add_parser(
            client, help=f"run {client} on it", prefix_chars=NO_OPTIONS, add_help=False
        )
        own.add_argument("arguments", nargs=argparse.REMAINDER)
    load = commands.add_parser("load-image", help="load image archives into every node")
    load.add_argument("archives", nargs="+", metavar="ARCHIVE")
    _add_faults(commands)
    _add_views(commands)
    return top


def _add_faults(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    node = commands.add_parser("node", help="break a node, or mend it")
    node.add_argument("action", choices=[*faults.NODE_FAULTS, *faults.NODE_CURES])
    node.add_argument("node", metavar="NODE")
    program = commands.add_parser("program", help="stop or start a program of the control plane")
    program.add_argument("action", choices=["stop", "start"])
    program.add_argument("program", choices=faults.PROGRAMS)


def _add_views(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    logs = commands.add_parser("logs", help="show the log of a machine's program")
    logs.add_argument("machine", metavar="MACHINE")
    logs.add_argument("program", metavar="PROGRAM")
    logs.add_argument("--follow", "-f", action="store_true")
    logs.add_argument("--lines", "-n", type=int, default=100)
    enter = commands.add_parser("enter", help="run a command, or a shell, in a machine")
    enter.add_argument("machine", metavar="MACHINE")
    enter.add_argument("arguments", nargs=argparse.REMAINDER, metavar="COMMAND")
    building = commands.add_parser("build", help="build a module's programs, and print where")
    building.add_argument("module", choices=build.MODULES)


def main(words: list[str]) -> int:
    """Run one command, and return the exit status."""
    arguments = parser().parse_args(words)
    paths = layout.paths_from(os.environ, is_root=os.geteuid() == 0)
    try:
        COMMANDS[arguments.command](Context(paths=paths, progress=Progress()), arguments)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
