"""Ask Java for the last progress of all queries in a few calls, whatever their number.

A call from Python to Java costs more than anything else that the agent does, and one query needs four of
them. So the asking is put together from Java's own parts, method handles as the functions of a stream, and
runs on its side. Progress is rendered for the queries that have a new one only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_STREAMING = "org.apache.spark.sql.streaming"
_BETWEEN = "\x01"  # no JSON holds it, for it escapes control characters


class Bulk:
    """Asks Java queries of one JVM, at least one; the answers have their order."""

    def __init__(self, jvm: Any) -> None:
        self._list = jvm.java.util.ArrayList
        self._joining = jvm.java.util.stream.Collectors.joining(_BETWEEN)
        functions = Functions(jvm)
        last = functions.of_instance(
            f"{_STREAMING}.StreamingQuery", "lastProgress", f"{_STREAMING}.StreamingQueryProgress"
        )
        text = functions.of_any("java.lang.String", "valueOf", "java.lang.String")
        code = functions.of_any("java.lang.System", "identityHashCode", "int")
        self._texts = last.andThen(text)
        self._codes = last.andThen(code).andThen(text)
        self._known: tuple[Sequence[Any], Any] = ((), self._list())

    def codes(self, queries: Sequence[Any]) -> list[str]:
        """Return a text for each query that changes with its last progress."""
        if not self._is_known(queries):
            self._known = queries, self._as_list(queries)
        return self._asked(self._known[1], self._codes)

    def progress(self, queries: Sequence[Any]) -> list[str]:
        """Return the JSON of each query's last progress; "null" where there is none."""
        known = self._known[1] if self._is_known(queries) else self._as_list(queries)
        return self._asked(known, self._texts)

    def _is_known(self, queries: Sequence[Any]) -> bool:
        # By identity: to compare two of Java's objects is a call.
        return [id(query) for query in self._known[0]] == [id(query) for query in queries]

    def _as_list(self, queries: Sequence[Any]) -> Any:
        java = self._list()
        for query in queries:
            java.add(query)
        return java

    def _asked(self, queries: Any, function: Any) -> list[str]:
        answer = queries.stream().map(function).collect(self._joining)
        return str(answer).split(_BETWEEN)


class Functions:
    """Makes Java functions of Java methods."""

    def __init__(self, jvm: Any) -> None:
        self._invoke = jvm.java.lang.invoke
        self._class = jvm.java.lang.Class.forName
        self._primitives = {"int": jvm.java.lang.Integer.TYPE, "long": jvm.java.lang.Long.TYPE}
        self._lookup = self._invoke.MethodHandles.publicLookup()

    def of_instance(self, owner: str, name: str, result: str) -> Any:
        """Make a function of a method without parameters."""
        type_ = self._invoke.MethodType.methodType(self._type(result))
        return self._function(self._lookup.findVirtual(self._class(owner), name, type_))

    def of_any(self, owner: str, name: str, result: str) -> Any:
        """Make a function of a static method that takes any object."""
        any_ = self._class("java.lang.Object")
        type_ = self._invoke.MethodType.methodType(self._type(result), any_)
        return self._function(self._lookup.findStatic(self._class(owner), name, type_))

    def _type(self, name: str) -> Any:
        return self._primitives[name] if name in self._primitives else self._class(name)

    def _function(self, handle: Any) -> Any:
        function = self._class("java.util.function.Function")
        return self._invoke.MethodHandleProxies.asInterfaceInstance(function, handle)
