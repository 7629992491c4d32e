"""Ask Java for the last progress of all queries in one call, whatever their number.

A call from Python to Java costs more than anything else that the agent does: each object that it returns is another
call when Python lets go of it, and a query needs four. So the asking is put together from Java's own parts: method
handles as the functions of a stream. Progress is rendered for the queries that have a new one only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_STREAMING = "org.apache.spark.sql.streaming"
_STREAM = "java.util.stream.Stream"
_BETWEEN = "\x01"  # no JSON holds it, for it escapes control characters


class Bulk:
    """Asks these Java queries of one JVM, at least one; the answers have their order."""

    def __init__(self, jvm: Any, queries: Sequence[Any]) -> None:
        self._queries = tuple(queries)
        functions = Functions(jvm)
        last = functions.of_instance(
            f"{_STREAMING}.StreamingQuery", "lastProgress", f"{_STREAMING}.StreamingQueryProgress"
        )
        text = functions.of_any("java.lang.String", "valueOf", "java.lang.String")
        code = functions.of_any("java.lang.System", "identityHashCode", "int")
        listed = jvm.java.util.ArrayList()
        for query in queries:
            listed.add(query)
        joined = functions.joined(_BETWEEN)
        all_ = functions.method("java.util.Collection", "stream", _STREAM).bindTo(listed)
        self._codes = functions.supplier(
            functions.chain(all_, functions.mapped(last.andThen(code).andThen(text)), joined)
        )
        some = functions.elements_of(listed)
        self._texts = functions.function(
            functions.chain(*some, functions.mapped(last.andThen(text)), joined)
        )

    def is_of(self, queries: Sequence[Any]) -> bool:
        """Tell whether these are the queries that it asks."""
        # By identity: to compare two of Java's objects is a call.
        return [id(query) for query in self._queries] == [id(query) for query in queries]

    def codes(self) -> list[str]:
        """Return a text for each query that changes with its last progress."""
        return str(self._codes.get()).split(_BETWEEN)

    def progress(self, places: Sequence[int]) -> list[str]:
        """Return the JSON of the last progress of the queries at these places, in ascending order; "null" for none."""
        bits = sum(1 << place for place in places)
        size = (len(self._queries) + 7) // 8
        return str(self._texts.apply(bytearray(bits.to_bytes(size, "little")))).split(_BETWEEN)


class Counter:
    """Counts the active queries of a Java session, in one call."""

    def __init__(self, jvm: Any) -> None:
        functions = Functions(jvm)
        manager = f"{_STREAMING}.StreamingQueryManager"
        queries = f"[L{_STREAMING}.StreamingQuery;"
        length = functions.static("java.lang.reflect.Array", "getLength", "int", "java.lang.Object")
        self._count = functions.function(
            functions.chain(
                functions.method("org.apache.spark.sql.SparkSession", "streams", manager),
                functions.method(manager, "active", queries),
                functions.typed(length, "int", queries),
            )
        )

    def count(self, session: Any) -> int:
        """Return how many queries of the session run."""
        return int(self._count.apply(session))


class Functions:
    """Makes Java functions of Java methods, and chains of them."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self._invoke = jvm.java.lang.invoke
        java = jvm.java.lang
        # Java finds a connector that came with `spark.jars` only where Spark looks for it.
        self._loader = java.Thread.currentThread().getContextClassLoader()
        self._for_name = java.Class.forName
        self._primitives = {
            "int": java.Integer.TYPE,
            "long": java.Long.TYPE,
            "boolean": java.Boolean.TYPE,
        }
        self._lookup = self._invoke.MethodHandles.publicLookup()

    def of_instance(self, owner: str, name: str, result: str) -> Any:
        """Make a function of a method without parameters."""
        return self.function(self.method(owner, name, result))

    def of_any(self, owner: str, name: str, result: str) -> Any:
        """Make a function of a static method that takes any object."""
        return self.function(self.static(owner, name, result, "java.lang.Object"))

    def concatenation(self) -> Any:
        """Make a function of two texts that puts them together."""
        text = "java.lang.String"
        return self._proxy("java.util.function.BiFunction", self.method(text, "concat", text, text))

    def method(self, owner: str, name: str, result: str, *parameters: str) -> Any:
        """Find a method; its handle takes the object first."""
        return self._lookup.findVirtual(self._type(owner), name, self._shape(result, parameters))

    def static(self, owner: str, name: str, result: str, *parameters: str) -> Any:
        """Find a static method."""
        return self._lookup.findStatic(self._type(owner), name, self._shape(result, parameters))

    def typed(self, handle: Any, result: str, *parameters: str) -> Any:
        """Let a handle take and return other types, so that it fits into a chain."""
        return handle.asType(self._shape(result, parameters))

    def chain(self, first: Any, *others: Any) -> Any:
        """Put handles together: each takes what the one before it returns."""
        whole = first
        for other in others:
            whole = self._invoke.MethodHandles.filterReturnValue(whole, other)
        return whole

    def elements_of(self, listed: Any) -> tuple[Any, ...]:
        """Make the links that lead from bytes, a bit for each place in a list, to a stream of what is there."""
        ints, bits = "java.util.stream.IntStream", "java.util.BitSet"
        get = self.method("java.util.List", "get", "java.lang.Object", "int").bindTo(listed)
        at_place = self._proxy("java.util.function.IntFunction", get)
        each = self.method(ints, "mapToObj", _STREAM, "java.util.function.IntFunction")
        return (
            self.static(bits, "valueOf", bits, "[B"),
            self.method(bits, "stream", ints),
            self.with_arguments(each, 1, at_place),
        )

    def mapped(self, function: Any) -> Any:
        """Make the link that puts a function over a stream."""
        over = self.method(_STREAM, "map", _STREAM, "java.util.function.Function")
        return self.with_arguments(over, 1, function)

    def joined(self, between: str) -> Any:
        """Make the link that makes one text of a stream of texts."""
        collector = self._jvm.java.util.stream.Collectors.joining(between)
        collect = ("collect", "java.lang.Object", "java.util.stream.Collector")
        return self.with_arguments(self.method(_STREAM, *collect), 1, collector)

    def function(self, handle: Any) -> Any:
        """Make a function of a handle with one parameter."""
        return self._proxy("java.util.function.Function", handle)

    def supplier(self, handle: Any) -> Any:
        """Make a supplier of a handle without parameters."""
        return self._proxy("java.util.function.Supplier", handle)

    def failing(self, handle: Any) -> Any:
        """Make a function of Spark's, with a `call` whose errors come as they are; one of Java's wraps most of them."""
        return self._proxy("org.apache.spark.api.java.function.Function", handle)

    def with_arguments(self, handle: Any, place: int, *values: Any) -> Any:
        """Give a handle the values of its parameters from a place on."""
        given = self._array("java.lang.Object", values)
        return self._invoke.MethodHandles.insertArguments(handle, place, given)

    def _shape(self, result: str, parameters: Sequence[str]) -> Any:
        types = [self._type(parameter) for parameter in parameters]
        given = self._array("java.lang.Class", types)
        return self._invoke.MethodType.methodType(self._type(result), given)

    def _array(self, of: str, values: Sequence[Any]) -> Any:
        array = self._jvm.java.lang.reflect.Array.newInstance(self._class(of), len(values))
        for place, value in enumerate(values):
            array[place] = value
        return array

    def _type(self, name: str) -> Any:
        return self._primitives[name] if name in self._primitives else self._class(name)

    def _class(self, name: str) -> Any:
        return self._for_name(name, True, self._loader)

    def _proxy(self, interface: str, handle: Any) -> Any:
        return self._invoke.MethodHandleProxies.asInterfaceInstance(self._class(interface), handle)
