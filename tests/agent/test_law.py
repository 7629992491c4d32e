"""The law of the agent: a program does under it what it does under plain Python."""

import zipfile
from pathlib import Path

import pytest

from tests.agent.running import Outcome, plainly, running, under_agent

PROGRAMS = {
    "returns": "print('done')",
    "writes both streams": "import sys; print('out'); print('err', file=sys.stderr)",
    "reads standard input": "print(input())",
    "exits with a number": "import sys; sys.exit(3)",
    "exits with a text": "import sys; sys.exit('no more')",
    "exits with nothing": "import sys; sys.exit()",
    "exits at once": "import os; print('x', flush=True); os._exit(5)",
    "raises": "def f():\n    raise ValueError('wrong')\nf()",
    "raises from another error": """
try:
    {}['key']
except KeyError as error:
    raise RuntimeError('lookup failed') from error
""",
    "raises while it handles": """
try:
    1 / 0
except ZeroDivisionError:
    int('x')
""",
    "is interrupted": "raise KeyboardInterrupt",
    "raises a bare BaseException": "raise BaseException('odd')",
    "has a syntax error": "print('never'\n",
    "has its own excepthook": """
sys.excepthook = lambda kind, error, traceback: print(kind.__name__, traceback.tb_lineno)
raise ValueError
""",
    "prints its arguments": "import sys; print(sys.argv)",
    "looks at itself": """
print(__name__, __file__, __spec__, __package__, __doc__, type(__loader__).__name__)
print(sorted(globals()), type(__builtins__).__name__, sys.path[0])
import __main__
print(vars(__main__) is globals())
""",
    "imports its neighbours, one of them named sluice": """
import sluice, settings
print(sluice.__file__, settings.__file__)
""",
    "registers exit handlers": """
import atexit
atexit.register(print, 'first')
atexit.register(print, 'second')
print('main')
""",
    "leaves a thread that ends later": """
import threading, time, __main__
def work():
    time.sleep(0.3)
    print('thread', __main__ is not None, VALUE)
VALUE = 7
threading.Thread(target=work).start()
print('main')
""",
    "fails in a thread": """
import threading
def work():
    raise ValueError('in a thread')
thread = threading.Thread(target=work, name='mine')
thread.start()
thread.join()
""",
    "forks a child that exits": """
import os, sys
child = os.fork()
if child == 0:
    sys.exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
    "terminates a forked worker": """
import multiprocessing, time
if __name__ == '__main__':
    worker = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,))
    worker.start()
    worker.terminate()
    worker.join()
    print(worker.exitcode)
""",
    "spawns a worker with a function of main": """
import multiprocessing
def double(number):
    return 2 * number
if __name__ == '__main__':
    with multiprocessing.get_context('spawn').Pool(1) as pool:
        print(pool.map(double, [1, 2]))
""",
    "pickles a class of main": """
import pickle
class Point: x = 1
print(pickle.loads(pickle.dumps(Point())).x)
""",
    "warns of something deprecated": "import warnings; warnings.warn('old', DeprecationWarning)",
    "has its own SIGTERM handler": """
import os, signal
signal.signal(signal.SIGTERM, lambda *_: print('caught'))
os.kill(os.getpid(), signal.SIGTERM)
""",
    "recurses too deep": """
def f(): f()
try:
    f()
except RecursionError as error:
    print(error)
""",
}


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_program_does_the_same_under_the_agent(program: str, pyz: Path, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "main.py").write_text(PROGRAMS[program])
    (tmp_path / "job" / "sluice.py").touch()
    (tmp_path / "job" / "settings.py").touch()
    command = ["job/main.py", "--rate", "10", "--"]

    assert under_agent(pyz, command, tmp_path) == plainly(command, tmp_path)


def test_a_program_that_calls_itself_for_ever_is_reported_without_the_agents_frames(
    pyz: Path, tmp_path: Path
) -> None:
    (tmp_path / "main.py").write_text("def f(): f()\nf()")

    outcome = under_agent(pyz, ["main.py"], tmp_path)

    assert outcome.exit_code == 1
    assert "agent.pyz" not in outcome.stderr
    assert "another exception" not in outcome.stderr
    assert outcome.stderr.splitlines()[-1].startswith("RecursionError: maximum recursion depth")


def test_a_missing_program_is_reported_as_python_does(pyz: Path, tmp_path: Path) -> None:
    plain = plainly(["none.py"], tmp_path)

    assert under_agent(pyz, ["none.py"], tmp_path) == plain
    assert plain.exit_code == 2


@pytest.mark.parametrize("body", ["import helper; print(helper.NAME, __name__)", "1 / 0"])
def test_a_folder_with_a_main_runs_as_plainly(body: str, pyz: Path, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "__main__.py").write_text(body)
    (tmp_path / "job" / "helper.py").write_text("NAME = 'helper'")

    plain = plainly(["job", "argument"], tmp_path)
    under = under_agent(pyz, ["job", "argument"], tmp_path)

    assert (under.stdout, under.exit_code) == (plain.stdout, plain.exit_code)
    assert under.stderr == _without_runpy(plain.stderr)


def test_a_zip_file_with_a_main_runs_as_plainly(pyz: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive:
        archive.writestr("__main__.py", "import sys, helper; print(sys.argv, helper.NAME)")
        archive.writestr("helper.py", "NAME = 'helper'")

    assert under_agent(pyz, ["job.zip", "x"], tmp_path) == plainly(["job.zip", "x"], tmp_path)


def test_two_dashes_before_the_program_are_the_agents(pyz: Path, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import sys; print(sys.argv)")

    assert under_agent(pyz, ["--", "main.py", "--"], tmp_path).stdout == "['main.py', '--']\n"


def test_without_a_program_the_usage_is_told(pyz: Path, tmp_path: Path) -> None:
    assert under_agent(pyz, [], tmp_path) == Outcome(
        "", "usage: python3 agent.pyz [--] MAIN_FILE [ARGS...]\n", 2
    )


def test_a_port_in_use_does_not_keep_the_program_from_running(pyz: Path, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print('done')")
    (tmp_path / "first.py").write_text("import time; time.sleep(600)")
    with running(pyz, tmp_path / "first.py") as first:
        first.wait_for("an agent on the port", lambda state: state["phase"] == "starting")
        outcome = under_agent(pyz, ["main.py"], tmp_path, SLUICE_AGENT_PORT=str(first.port))

    assert outcome == Outcome("done\n", "", 0)


def test_pyspark_is_not_imported_for_a_program_that_does_not_use_it(
    pyz: Path, tmp_path: Path
) -> None:
    (tmp_path / "main.py").write_text("import sys; print('pyspark' in sys.modules)")

    assert under_agent(pyz, ["main.py"], tmp_path).stdout == "False\n"


def test_sigterm_ends_a_program_without_queries_at_once(pyz: Path, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import time; print('begun', flush=True); time.sleep(600)")
    with running(pyz, tmp_path / "main.py", SLUICE_STOP_DEADLINE_SECONDS="600") as program:
        program.wait_for("the agent", lambda state: state["phase"] == "starting")
        assert program.process.stdout is not None
        assert program.process.stdout.readline() == "begun\n"
        program.terminate()

        assert program.ended().exit_code == 143


def test_a_program_whose_main_has_returned_goes_on_as_long_as_its_threads_do(
    pyz: Path, tmp_path: Path
) -> None:
    """Its queries may be theirs: a finished job would not be scaled, and nobody would look for queries that fail."""
    (tmp_path / "main.py").write_text(
        "import threading\n"
        "main = threading.main_thread()\n"
        "def work():\n"
        "    main.join(5)\n"
        "    print('main has returned', flush=True)\n"
        "    threading.Event().wait(600)\n"
        "threading.Thread(target=work).start()\n"
    )
    with running(pyz, tmp_path / "main.py") as program:
        assert program.process.stdout is not None
        assert program.process.stdout.readline() == "main has returned\n"

        state = program.wait_for("the agent", lambda state: state is not None)

        assert state["phase"] == "starting"
        program.terminate()
        assert program.ended().exit_code == 143


def _without_runpy(traceback: str) -> str:
    """Plain Python shows runpy's frames for folders; the agent leaves them out with its own."""
    lines = traceback.splitlines(keepends=True)
    return "".join(line for line in lines if "<frozen runpy>" not in line)
