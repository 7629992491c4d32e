"""The command line of the local cluster: `python3 -m e2e.cluster up`, and the rest of its life."""

import os
import sys

from e2e.cluster import layout, namespaces
from e2e.cluster.progress import Progress

p = layout.paths_from(os.environ, is_root=True)
{"up": lambda: namespaces.up(p, None, Progress()), "down": lambda: namespaces.down(p, Progress())}[
    sys.argv[1]
]()
