"""Of a long error the lines remain that name what to mend."""

from textwrap import dedent

from sluice.agent.essence import essence

BODY = """\
[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch sink. \
Reason: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/py4j/clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/spark/python/lib/pyspark.zip/pyspark/sql/utils.py", line 163, in call
    self.func(DataFrame(jdf, wrapped_session_jdf), batch_id)
  File "/opt/program/main.py", line 5, in deliver
    raise ConnectionError("cannot reach the database")
ConnectionError: cannot reach the database

"""


def test_what_a_function_of_the_program_raised_is_told_with_where() -> None:
    assert essence(BODY, 500).endswith(
        'Traceback (most recent call last):\n  File "/opt/program/main.py", line 5, in deliver\n'
        '    raise ConnectionError("cannot reach the database")\n'
        "ConnectionError: cannot reach the database"
    )
    assert essence(BODY, 500).startswith("[FOREACH_BATCH_USER_FUNCTION_ERROR]")


def test_frames_of_java_are_left_out_and_the_reason_behind_them_stays() -> None:
    told = essence(
        dedent("""\
        Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times: java.lang.IllegalStateException: no
        \tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator$$anonfun$1.applyOrElse(PythonRunner.scala:704)
        \tat java.base/java.lang.Thread.run(Thread.java:840)
        Caused by: java.io.EOFException: the file ended
        \t... 27 more

        Driver stacktrace:
        """),
        1000,
    )
    assert told.splitlines() == [
        "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times: "
        "java.lang.IllegalStateException: no",
        "Caused by: java.io.EOFException: the file ended",
    ]


def test_plans_of_spark_are_left_out() -> None:
    unresolved = "[UNRESOLVED_COLUMN] A column cannot be resolved.;\n'Project ['nothing]\n+- ~StreamingRelationV2 rate"
    assert essence(unresolved, 1000) == "[UNRESOLVED_COLUMN] A column cannot be resolved.;"
    failed = "[STREAM_FAILED] no broker\n=== Streaming Query ===\nIdentifier: clicks"
    assert essence(failed, 1000) == "[STREAM_FAILED] no broker"


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    told = essence("beginning " + "x" * 5000 + " end", 100)
    assert len(told) == 100
    assert told.startswith("beginning x")
    assert told.endswith("x end")
    assert " ... " in told


def test_lists_in_a_message_are_no_plan() -> None:
    told = "Choose one of:\n  - earliest\n  - latest"
    assert essence(told, 1000) == told


def test_nothing_stays_nothing() -> None:
    assert essence("", 10) == ""
