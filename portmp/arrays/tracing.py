"""What a function of arrays asks of routines, noted by calling it on stand-ins.

Stand-ins lie in a queue whose plans note each call, with where operands lie in memory that is not
there. So what is noted is what the calls mean: conversions, broadcasting and errors are theirs. A
view of a result is an expression of views of its operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from portmp import formats
from portmp.arrays import elementwise
from portmp.arrays.viewed import Viewed, wrapped
from portmp.backends.base import recorder
from portmp.backends.host.runtime import HostDevice
from portmp.codegen.answers import TESTS
from portmp.errors import ArgumentError, DeviceError, UnsupportedError
from portmp.formats import Format, encode
from portmp.routines.elementwise import launch as routine
from portmp.routines.fused import launch as fused
from portmp.routines.fused.expression import TRUTH, Expression, expression, operand_name, rounding
from portmp.routines.moves import launch as moves
from portmp.routines.plain import launch as plain
from portmp.routines.reduce import launch as reduce
from portmp.runtime.launch import Memory, Plan, Planner, Plans
from portmp.runtime.planes import (
    Place,
    Planes,
    View,
    allocate,
    broadcast_strides,
    dense_strides,
)
from portmp.schedules import database

Shape = tuple[int, ...]

EXACT = ("copy", "neg", "abs", "min", "max", "select", "compare")
"""Operations whose results are stored as their operands are: nothing is rounded."""

_READ_AS = {("float32", "float64"): "fp64infp32"}
"""Storage formats that make one format of another where it is read."""

_RESHAPED = (
    "it looks at a result by another shape, or at places that a result tells; reshape operands, and "
    "choose by portmp.where"
)
_DIFFER = "either(both({0}, opposite({1})), both(opposite({0}), {1}))"
_LOGIC = {
    "and": "both({0}, {1})",
    "or": "either({0}, {1})",
    "xor": _DIFFER,
    "not_equal": _DIFFER,
    "equal": f"opposite({_DIFFER})",
    "not": "opposite({0})",
    "copy": "{0}",
    "truth": "{0}",
}
"""Operations on truth values, as gates."""


class Node(NamedTuple):
    """What one call makes: an operation, of which nodes, and of which shape and elements.

    ``told``: of an operand its number, where its elements lie from its start on, and the format in
    which it is read, where that is another one; of a number its limbs and their bits; of a
    reduction its kind and its rows.
    """

    op: str
    args: tuple[int, ...]
    shape: Shape
    elements: Format | str
    told: Any = None


class Traced(NamedTuple):
    """What runs in place of a function: an expression, its operands, and where results lie."""

    expression: Expression
    leaves: tuple[Any, ...]
    shape: Shape
    rows: Place
    result: Place | None

    def run(self, given: Sequence[Any]) -> Any:
        """The result, of operands of the kind that was traced."""
        operands = []
        for leaf in self.leaves:
            if type(leaf) is int:
                operands.append(given[leaf].planes)
            elif type(leaf[0]) is int:
                operands.append(_leaf(given[leaf[0]].planes, *leaf[1:]))
            else:
                operands.append(leaf)
        found = fused.apply(self.expression, operands, self.shape, self.rows)
        return wrapped(found if self.result is None else found.view(*self.result))


def _leaf(view: View[Any], place: Place, form: Format | None) -> View[Any]:
    """A view of an operand, in a format."""
    start = view.start + place.start
    if form is None:
        return view.view(place.shape, place.strides, start)
    if form.coded:
        assert isinstance(view, Planes)
        return view.view(place.shape, place.strides, start).seen_as(form)
    return elementwise.as_dtype(view.view(place.shape, place.strides, start), form)


def traced(name: str, function: Callable[..., Any], operands: Sequence[Any]) -> Traced:
    """What a function of this *name* does with such operands."""
    trace = _Trace(name)
    given = [trace.operand(i, o) if isinstance(o, Viewed) else o for i, o in enumerate(operands)]
    try:
        with recorder.into(None):
            found = function(*given)
    except DeviceError as error:
        trace.refuse(
            "it uses an array that is no argument, which is read only when it is called; give it "
            "as an argument",
            error,
        )
    if not isinstance(found, Viewed):
        trace.refuse(f"it returns {type(found).__name__}; one array is returned")
    if found.queue is not trace.queue:
        trace.refuse("it returns an array that is no result of its arguments")
    return trace.ended(found.planes)


class _Nowhere(HostDevice):
    """Where stand-ins are: no kernels, and no references either."""

    by_reference = False
    platform = "opencl"
    name = "a traced function's device"
    queue: _Queue

    def refuse(self) -> NoReturn:
        """Nothing is compiled for it."""
        self.queue.trace.refuse("it launches kernels of its own; call that outside")

    def compiler_key(self) -> str:
        self.refuse()


class _Queue(Planner):
    """Allocates stand-ins, and says in words what a traced function cannot do."""

    def __init__(self, trace: _Trace) -> None:
        self.device: _Nowhere = object.__new__(_Nowhere)
        self.device.properties, self.device.traits = _facts()
        self.device.queue = self
        super().__init__(self)
        self.trace = trace
        self.plans: Any = _Plans(trace, self)
        self.converter = trace.converted

    def allocate_parts(self, sizes: Sequence[int]) -> tuple[Memory, ...]:
        """Memory that is not there; it is kept, so that it is no other one's."""
        found = tuple([Memory(self.device, n, 0) for n in sizes])
        self.trace.memory += found
        return found

    def write(self, target: Any, source: Any, offset: int = 0, *, wait: bool = True) -> None:
        """Note one number; more are an array that the function makes."""
        if source.size != 1 or offset:
            self.trace.refuse("it makes an array of the host's numbers; give it as an argument")
        self.trace.written[target] = source

    def _host(self, *given: Any, **named: Any) -> Any:
        self.trace.refuse(
            "it needs a value on the host (if, while, float(), an index, printing), which has none "
            "before the kernel runs; portmp.where(condition, x, y) chooses by values"
        )

    def _other(self, *given: Any, **named: Any) -> Any:
        self.device.refuse()

    read = read_parts = receive = record = wait = synchronize = _host
    launch = multiply = copy = clear = _other


@cache
def _facts() -> tuple[Any, Any]:
    there = HostDevice()
    return there.properties, there.traits


class _Plans(Plans):
    """Plans that note what they would do, whatever happens to databases meanwhile."""

    edition = property(lambda self: database.edition.number, lambda self, number: None)

    def __init__(self, trace: _Trace, queue: _Queue) -> None:
        super().__init__(queue)
        self.trace = trace

    def plan(self, key: Any, operands: Any, launches: Any, *more: Any, **named: Any) -> Plan:
        """What notes a call, which ``launch.find`` knows by *key*."""
        makes = more[1] if len(more) > 1 else named.get("makes")
        return Plan(self.queue, makes, partial(self.trace.noted, key[0]))


class _Trace:
    """Nodes, and which of them is in which memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.memory: list[Memory] = []
        self.written: dict[Memory, np.ndarray[Any, Any]] = {}
        self.nodes: list[Node] = []
        self.number: dict[Node, int] = {}
        self.home: dict[Any, int] = {}
        self.operands: dict[Any, Place] = {}
        self.queue = _Queue(self)

    def refuse(self, why: str, error: Exception | None = None) -> NoReturn:
        """UnsupportedError that names the function."""
        raise UnsupportedError(f"fuse: {self.name}: {why}") from error

    def operand(self, number: int, given: Viewed[Any]) -> Any:
        """The stand-in of an operand."""
        view = given.planes
        parts = self.queue.allocate_parts([b.nbytes for b in view.buffers])
        place = Place(view.shape, view.strides, 0)
        node = Node("leaf", (), view.shape, view.elements, (number, place, None))
        self.home[parts[0]] = self.add(node)
        self.operands[parts[0]] = place
        return wrapped(type(view)(view.elements, *place, parts, self.queue))

    def add(self, node: Node) -> int:
        """The number of a node: one for all that are equal."""
        found = self.number.setdefault(node, len(self.nodes))
        if found == len(self.nodes):
            self.nodes.append(node)
        return found

    # --- calls ----------------------------------------------------------------------------------

    def noted(self, what: tuple[Any, ...], *views: Any) -> None:
        """A routine is called: *what* names it, the last of its *views* is the result."""
        *given, out = views
        known = _CALLS.get(what[0])
        if what[:3] == (moves.run, "x", ""):
            known = _copied
        if known is None:
            self.refuse(
                f"it calls {_spelled(what)}, which is no elementwise operation; call it outside"
            )
        op, told = known(what)
        if op == "reduce":
            self.put(out, self.reduced(told, given[0], out))
            return
        like = next((one for one in given if isinstance(one, View)), out)
        args = tuple([self.node(one, like) for one in given])
        if op == "logic":
            truths = [getattr(view, "elements", "") == TRUTH for view in views]
            if not all(truths) or told not in _LOGIC:
                self.refuse("it computes with integers; make values of them outside: x.astype(...)")
        elif op == "test" and TESTS[told].op == "compare":
            args = (self.add(Node("compare", args, out.shape, like.elements)),)
        self.put(out, self.add(Node(op, args, out.shape, out.elements, told)))

    def put(self, out: View[Any], node: int) -> None:
        """The result of a call is in this memory from now on."""
        memory, size = out.buffers[0], np.dtype(out.parts[0]).itemsize
        whole = out.place == _dense(out.shape) and memory.nbytes == max(out.size, 1) * size
        if memory in self.operands or not whole:
            self.refuse("it changes an array in place; return the new array instead")
        self.home[memory] = node

    def node(self, operand: Any, like: View[Any]) -> int:
        """The node of a view, or of a number."""
        if not isinstance(operand, View):
            return self.add(_number(like.elements, tuple(operand)))
        memory = operand.buffers[0]
        if memory in self.written:
            parts = [self.written[b].reshape(()) for b in operand.buffers]
            if not isinstance(operand, Planes):
                self.refuse("it uses a truth value of the host; choose in Python")
            limbs = encode.limbs_of(operand.format, parts)
            word = np.dtype(operand.format.word).type
            return self.add(_number(operand.elements, tuple([word(limb[()]) for limb in limbs])))
        home = self.home.get(memory)
        if home is None or self.nodes[home].elements != operand.elements:
            self.refuse("it takes a value apart (limbs, raw memory); compute with the value")
        node = self.nodes[home]
        if memory in self.operands:
            told = node.told[0], operand.place, None
            return self.add(node._replace(shape=operand.shape, told=told))
        return self.seen(home, operand.place, node.shape)

    def seen(self, number: int, place: Place, shape: Shape) -> int:
        """The node of a view of one that is broadcast to *shape*, where it would lie dense."""
        node = self.nodes[number]
        if node.op == "reduce":
            self.refuse("it computes with a reduction's result; that comes last, go on outside")
        if place == _dense(shape) or node.op == "number":
            return number
        if node.op == "leaf":
            whole = broadcast_strides(node.shape, node.told[1].strides, shape)
            there = self.through(place, shape, whole, node.told[1].start)
            told = node.told[0], there, node.told[2]
            return self.add(node._replace(shape=place.shape, told=told))
        args = tuple([self.seen(arg, place, shape) for arg in node.args])
        return self.add(node._replace(args=args, shape=place.shape))

    def through(self, place: Place, shape: Shape, strides: Shape, start: int) -> Place:
        """Where a view of dense elements is in memory that has these strides instead."""
        dense, at, rest = dense_strides(shape), [], place.start
        for step in dense:
            index, rest = divmod(rest, step)
            at.append(index)
        first, last, found = list(at), list(at), []
        for n, step in zip(place.shape, place.strides, strict=True):
            axes = [a for a, d in enumerate(dense) if shape[a] > 1 and d <= abs(step)]
            if n < 2 or not step:
                found.append(0)
                continue
            many, rest = divmod(step, dense[axes[0]]) if axes else (0, 1)
            if rest:
                self.refuse(_RESHAPED)
            ends = first if many < 0 else last
            ends[axes[0]] += (n - 1) * many
            found.append(many * strides[axes[0]])
        inside = zip(first, last, shape, strict=True)
        if math.prod(place.shape) and any(a < 0 or b >= n for a, b, n in inside):
            self.refuse(_RESHAPED)
        moved = start + sum(i * s for i, s in zip(at, strides, strict=True))
        return Place(place.shape, tuple(found), moved)

    def reduced(self, kind: str, x: View[Any], out: View[Any]) -> int:
        """The node of a reduction of rows."""
        arg, place = self.home.get(x.buffers[0], -1), x.place
        if arg < 0 or self.nodes[arg].op in ("leaf", "reduce"):
            arg, place = self.node(x, x), _dense(x.shape)
        return self.add(Node("reduce", (arg,), out.shape, out.elements, (kind, place)))

    def converted(self, view: View[Any], form: Format) -> View[Any]:
        """A view's elements in another format."""
        out = allocate(form, view.shape, self.queue)
        number = self.node(view, view)
        node = self.nodes[number]
        if node.op == "leaf" and node.told[2] is None:
            read = _READ_AS.get((str(view.elements), form.name))
            told = (*node.told[:2], formats.get(read) if read else form)
            made = Node("leaf", (), view.shape, form, told)
        elif isinstance(view, Planes) and view.format.arithmetic is form.arithmetic:
            made = Node("convert", (number,), view.shape, form)
        else:
            self.refuse(f"it converts a result of {view.elements} to {form}; convert outside")
        self.home[out.buffers[0]] = self.add(made)
        return out

    # --- the end --------------------------------------------------------------------------------

    def ended(self, view: View[Any]) -> Traced:
        """What the function does that returns this view."""
        number, kind, result = self.home.get(view.buffers[0], -1), "", None
        if number >= 0 and self.nodes[number].op == "reduce":
            last = self.nodes[number]
            (kind, rows), (number,) = last.told, last.args
            result = None if view.place == _dense(last.shape) else view.place
            shape = self.nodes[number].shape
        else:
            number, rows, shape = self.node(view, view), _dense(view.shape), view.shape
        root = self.nodes[number]
        order = self.ordered(number)
        leaves = [n for n in order if self.nodes[n].op in ("leaf", "number")]
        if not any(self.nodes[n].op == "leaf" for n in leaves):
            self.refuse("its result depends on no argument")
        values = [self.nodes[n].elements for n in order if self.nodes[n].elements != TRUTH]
        arithmetic = {one.arithmetic.name: None for one in values if isinstance(one, Format)}
        if len(arithmetic) != 1 or any(isinstance(one, str) for one in values):
            told = " and ".join(dict.fromkeys(map(str, values))) or TRUTH
            self.refuse(f"it computes with {told}; operands of one format are needed")
        lines = self.lines(order, leaves, bool(kind))
        kinds = tuple([self.leaf_kind(self.nodes[n]) for n in leaves])
        made = expression(next(iter(arithmetic)), kinds, lines, str(root.elements), kind)
        return Traced(made, tuple(map(self.told, leaves)), shape, rows, result)

    def told(self, number: int) -> Any:
        """How ``Traced`` finds an operand: by its number, as it is or seen otherwise; its limbs."""
        node = self.nodes[number]
        if node.op == "number":
            return node.told[0]
        index, place, form = node.told
        whole = list(self.operands.values())[index]
        return index if form is None and place == whole else node.told

    def leaf_kind(self, node: Node) -> str:
        """In which format an operand lies; ``bool``, or nothing for a number."""
        if node.op == "number":
            return ""
        form = node.told[2]
        return str(form if form is not None and form.coded else node.elements)

    def ordered(self, number: int) -> list[int]:
        """The nodes that one needs, operands first."""
        found: dict[int, None] = {}

        def visit(one: int) -> None:
            if one not in found:
                for arg in self.nodes[one].args:
                    visit(arg)
                found[one] = None

        visit(number)
        return list(found)

    def lines(self, order: Sequence[int], leaves: Sequence[int], stored: bool) -> tuple[str, ...]:
        """The network's listing; *stored*: whether its result is rounded, too."""
        names = {number: operand_name(i) for i, number in enumerate(leaves)}
        lines = []
        for number in order:
            node = self.nodes[number]
            if number in names:
                continue
            names[number] = f"v{len(lines)}"
            args = [names[arg] for arg in node.args]
            of = [self.nodes[arg] for arg in node.args]
            text = _text(node, args, of)
            if isinstance(node.elements, Format) and (stored or number != order[-1]):
                exact = node.op in EXACT and not any(one.op == "number" for one in of)
                if not exact and (net := rounding(node.elements)):
                    text = f"{net}({text})"
            lines.append(f"{names[number]} = {text}")
        return (*lines, f"return {names[order[-1]]}")


def _text(node: Node, args: Sequence[str], of: Sequence[Node]) -> str:
    """An operation as a part of a listing."""
    if node.op == "logic":
        return _LOGIC[node.told].format(*args)
    if node.op == "select":
        return f"select({args[2]}, {args[0]}, {args[1]})"
    if node.op in ("convert", "fill") or (node.op == "copy" and node.elements == TRUTH):
        return args[0]
    form = node.elements if isinstance(node.elements, Format) else of[0].elements
    assert isinstance(form, Format)
    if node.op == "test":
        word = of[0].op == "compare" or form.limbs == 1
        return TESTS[node.told].gates.format(args[0] if word else f"{args[0]}[0]")
    return f"{form.operator(node.op).name}({', '.join(args)})"


def _number(elements: Format | str, limbs: tuple[Any, ...]) -> Node:
    """A number; that of its bits tells -0 from 0."""
    return Node("number", (), (), elements, (limbs, b"".join(limb.tobytes() for limb in limbs)))


def _dense(shape: Shape) -> Place:
    return Place(shape, dense_strides(shape), 0)


def _spelled(what: Sequence[Any]) -> str:
    """A routine by the name of its function."""
    function = what[0]
    name = getattr(function, "__name__", str(function))
    return f"{getattr(function, '__module__', '').split('.')[-2]}.{name}"


def _copied(what: tuple[Any, ...]) -> tuple[str, Any]:
    return "copy", None


_CALLS: dict[Any, Callable[[tuple[Any, ...]], tuple[str, Any]]] = {
    routine.apply: lambda what: (what[1], None),
    routine.tested: lambda what: ("test", what[1]),
    routine.fill: lambda what: ("fill", None),
    moves.selected: lambda what: ("select", None),
    plain.apply: lambda what: ("logic", what[1]),
    reduce.over_rows: lambda what: ("reduce", what[1]),
}
"""What routines are noted as, by what ``launch.find`` is told of them."""
