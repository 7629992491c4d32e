"""The agent: runs inside the Spark driver, beside the user's program, which it never changes.

It is started as `python3 agent.pyz MAIN_FILE [ARGS...]` in place of `python3 MAIN_FILE ARGS...`. It serves
`/healthz`, `/metrics` and the authenticated verbs under `/v1`, follows every streaming query, and stops the
queries in order on SIGTERM. It decides nothing: the operator does. In a profile only, it takes the program's
sinks away: see `profiling`.

It runs in any user image, so it is written for Python 3.9 and the standard library, imports pyspark only
after the user's program did, and imports nothing else of sluice. `pack` is the one module for the operator.
"""

VERSION = "0.1.0"
