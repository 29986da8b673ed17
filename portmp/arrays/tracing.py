"""What a function of arrays asks of routines, noted by calling it on stand-ins.

Stand-ins lie in a queue whose plans note each call, and where its operands lie in memory that is
not there. So what is noted is what the calls mean: conversions, broadcasting and errors are theirs.
A view of a result is the same expression of views of its operands.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np

from portmp import formats
from portmp.arrays import elementwise
from portmp.arrays.complexes import is_complex
from portmp.arrays.viewed import Viewed, wrapped
from portmp.backends.base import recorder
from portmp.backends.host.runtime import HostDevice
from portmp.errors import DeviceError, UnsupportedError
from portmp.formats import Format, encode
from portmp.routines.complexes import launch as complexes
from portmp.routines.elementwise import launch as routine
from portmp.routines.fused import launch as fused
from portmp.routines.fused.expression import TRUTH, Expression, expression, operand_name, rounding
from portmp.routines.moves import launch as moves
from portmp.routines.plain import launch as plain
from portmp.routines.reduce import launch as reduce
from portmp.runtime.launch import Memory, Plan, Planner, Plans
from portmp.runtime.planes import Place, Planes, View, allocate, broadcast_strides, dense_strides
from portmp.schedules import database

Shape = tuple[int, ...]

EXACT = ("copy", "neg", "abs", "min", "max", "select")
"""Operations whose results are stored as their operands are: nothing is rounded."""

_READ_AS = {("float32", "float64"): "fp64infp32"}
"""Storage formats that make one format of another where it is read."""

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

_HOST = (
    "it needs a value on the host (if, while, float(), an index, printing), which has none before "
    "the kernel runs; portmp.where(condition, x, y) chooses by values"
)
_COMPLEX = (
    "it computes with complex numbers, which fused kernels do not have; give it their parts, "
    "z.real and z.imag, or write a kernel (portmp.Kernel)"
)
_KERNELS = "it launches kernels of its own; call that outside"
_PLACE = (
    "it writes to a part of an array (stack, concatenate), or changes an operand in place; return "
    "the new array instead"
)
_SHAPE = (
    "it looks at a result by another shape, or at places that a result tells; reshape operands, "
    "and choose by portmp.where"
)


class Node(NamedTuple):
    """What one call makes: an operation, of which nodes, and of which shape and elements.

    ``told``: of an operand its number, where its elements lie from its start on, and the format in
    which it is read, where that is another one; of a number its limbs and their bits, which tell -0
    from 0; of a reduction its kind and its rows.
    """

    op: str
    args: tuple[int, ...]
    shape: Shape
    elements: Format | str
    told: Any = None


class Traced(NamedTuple):
    """What runs in place of a function: an expression, its operands, and where results lie.

    Where a device runs no kernels, and within another trace, the function itself does.
    """

    function: Callable[..., Any]
    first: int
    expression: Expression
    leaves: tuple[Any, ...]
    shape: Shape
    rows: Place
    result: Place | None

    def run(self, given: Sequence[Any]) -> Any:
        """The result, of operands of the kind that was traced."""
        queue = given[self.first].planes.queue
        if queue.notes or queue.device.by_reference:
            return self.function(*given)
        operands = []
        for leaf in self.leaves:
            if type(leaf) is int:
                operands.append(given[leaf].planes)
            else:
                operands.append(_leaf(given, *leaf) if type(leaf[0]) is int else leaf)
        found = fused.apply(self.expression, operands, self.shape, self.rows)
        return wrapped(found if self.result is None else found.view(*self.result))


def _leaf(given: Sequence[Any], number: int, place: Place, form: Format | None) -> View[Any]:
    """An operand seen otherwise, in a format."""
    whole: View[Any] = given[number].planes
    view = whole.view(place.shape, place.strides, whole.start + place.start)
    if form is None:
        return view
    if _READ_AS.get((str(view.elements), form.arithmetic.name)) == form.name:
        return cast(Planes, view).seen_as(form)
    return elementwise.as_dtype(view, form)


def traced(name: str, function: Callable[..., Any], operands: Sequence[Any]) -> Traced:
    """What a function of this *name* does with such operands."""
    trace = _Trace(name)
    given = [trace.operand(i, o) if isinstance(o, Viewed) else o for i, o in enumerate(operands)]
    try:
        with recorder.into(None):
            found = function(*given)
    except DeviceError:
        trace.refuse("it uses an array that is no argument of it; give it as an argument")
    if not isinstance(found, Viewed):
        trace.refuse(f"it returns {type(found).__name__}; one array is returned")
    if found.queue is not trace.queue:
        trace.refuse("it returns an array that is no result of its arguments")
    return trace.ended(function, found.planes)


# --- where stand-ins are ------------------------------------------------------------------------


class _Nowhere(HostDevice):
    """A device of no kernels, and of no references either."""

    by_reference = False
    platform = "opencl"
    name = "a traced function's device"
    queue: "_Queue"

    def refuse(self) -> NoReturn:
        """Nothing is compiled for it."""
        self.queue.trace.refuse(_KERNELS)


@cache
def _facts() -> tuple[Any, Any]:
    there = HostDevice()
    return there.properties, there.traits


class _Queue(Planner):
    """Allocates stand-ins, and says in words what a traced function cannot do."""

    def __init__(self, trace: "_Trace") -> None:
        self.device: _Nowhere = object.__new__(_Nowhere)
        self.device.properties, self.device.traits = _facts()
        self.device.queue = self
        super().__init__(self)
        self.trace = trace
        self.plans: Any = _Plans(self)
        self.converter = trace.converted

    def allocate_parts(self, sizes: Sequence[int]) -> tuple[Memory, ...]:
        found = tuple([Memory(self.device, n, 0) for n in sizes])
        self.trace.memory += found
        return found

    def write(self, target: Any, source: Any, offset: int = 0, *, wait: bool = True) -> None:
        """Note one number; more are an array that the function makes."""
        if source.size != 1 or offset:
            self.trace.refuse("it makes an array of the host's numbers; give it as an argument")
        self.trace.written[target] = source

    def _host(self, *given: Any, **named: Any) -> Any:
        self.trace.refuse(_HOST)

    def _other(self, *given: Any, **named: Any) -> Any:
        self.trace.refuse(_KERNELS)

    read = read_parts = receive = record = wait = synchronize = _host
    launch = multiply = copy = clear = awaits = _other


class _Plans(Plans):
    """Plans that note what they would do, whatever happens to databases meanwhile."""

    queue: _Queue
    edition = property(lambda self: database.edition.number, lambda self, number: None)

    def plan(self, key: Any, operands: Any, launches: Any, *more: Any, **named: Any) -> Plan:
        """What notes a call, which ``launch.find`` knows by *key*."""
        makes = more[1] if len(more) > 1 else named.get("makes")
        return Plan(self.queue, makes, partial(self.queue.trace.noted, key[0]))


# --- what is noted ------------------------------------------------------------------------------


class _Trace:
    """Nodes, and which of them is in which memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.memory: list[Memory] = []  # all of it, so that none is another one's
        self.written: dict[Any, np.ndarray[Any, Any]] = {}
        self.nodes: list[Node] = []
        self.number: dict[Node, int] = {}
        self.home: dict[Any, int] = {}
        self.operands: dict[Any, Place] = {}
        self.queue = _Queue(self)

    def refuse(self, why: str) -> NoReturn:
        """UnsupportedError that names the function."""
        raise UnsupportedError(f"fuse: {self.name}: {why}") from None

    def operand(self, number: int, given: Viewed[Any]) -> Any:
        """The stand-in of an operand."""
        view = given.planes
        if is_complex(given):
            self.refuse(_COMPLEX)
        parts = self.queue.allocate_parts([b.nbytes for b in view.buffers])
        place = self.operands[parts[0]] = Place(view.shape, view.strides, 0)
        self.home[parts[0]] = self.add("leaf", (), view, (number, place, None))
        return wrapped(type(view)(view.elements, *place, parts, self.queue))

    def add(self, op: str, args: tuple[int, ...], like: View[Any], told: Any = None) -> int:
        """The number of a node: one for all that are equal."""
        return self.known(Node(op, args, like.shape, like.elements, told))

    def known(self, node: Node) -> int:
        found = self.number.setdefault(node, len(self.nodes))
        if found == len(self.nodes):
            self.nodes.append(node)
        return found

    def noted(self, what: tuple[Any, ...], *views: Any) -> None:
        """A routine is called: *what* names it, the last of its *views* is the result."""
        *given, out = views
        op = _CALLS.get(what[0], what[1] if len(what) > 1 else "")
        copies = what[:3] == (moves.run, "x", "")
        if what[0] is complexes.apply:
            self.refuse(_COMPLEX)
        if what[0] not in (*_CALLS, routine.apply, plain.apply, reduce.over_rows) and not copies:
            what_for = _NOT_FUSED.get(what[0].__module__.split(".")[-2], "calls a routine")
            self.refuse(f"it {what_for}, which is no elementwise operation; call that outside")
        if what[0] is reduce.over_rows:
            self.put(out, self.reduced(op, given[0], out))
            return
        like = next((one for one in given if isinstance(one, View)), out)
        args = tuple([self.node(one, like) for one in given])
        truths = all(getattr(view, "elements", "") == TRUTH for view in views)
        if what[0] is plain.apply and not (truths and op in _LOGIC):
            self.refuse("it computes with integers; make values of them outside: x.astype(...)")
        self.put(out, self.add("copy" if copies else op, args, out))

    def put(self, out: View[Any], node: int) -> None:
        """The result of a call is in this memory from now on."""
        memory, size = out.buffers[0], np.dtype(out.parts[0]).itemsize
        whole = out.place == _dense(out.shape) and memory.nbytes == max(out.size, 1) * size
        if memory in self.operands or not whole:
            self.refuse(_PLACE)
        self.home[memory] = node

    def node(self, operand: Any, like: View[Any]) -> int:
        """The node of a view, or of a number."""
        if not isinstance(operand, View):
            return self.of_number(tuple(operand), like.elements)
        memory = operand.buffers[0]
        if memory in self.written and isinstance(operand, Planes):
            parts = [self.written[b].reshape(()) for b in operand.buffers]
            word = np.dtype(operand.format.word).type
            limbs = [word(limb[()]) for limb in encode.limbs_of(operand.format, parts)]
            return self.of_number(tuple(limbs), operand.format)
        home = self.home.get(memory)
        if home is None or self.nodes[home].elements != operand.elements:
            self.refuse("it takes a value apart (limbs, raw memory); compute with the value")
        if memory in self.operands:
            return self.add("leaf", (), operand, (self.nodes[home].told[0], operand.place, None))
        return self.seen(home, operand.place, self.nodes[home].shape)

    def of_number(self, limbs: tuple[Any, ...], elements: Format | str) -> int:
        bits = b"".join(limb.tobytes() for limb in limbs)
        return self.known(Node("number", (), (), elements, (limbs, bits)))

    def seen(self, number: int, place: Place, shape: Shape) -> int:
        """The node of a view of one that is broadcast to *shape*, where it would lie dense."""
        node = self.nodes[number]
        if node.op == "reduce":
            self.refuse("it computes with a reduction's result; that comes last, go on outside")
        if place == _dense(shape):
            return number
        moved: dict[int, int] = {}
        for one in self.needed(number):
            node = self.nodes[one]
            if node.op == "leaf":
                index, (own, strides, start), form = node.told
                there = self.through(place, shape, broadcast_strides(own, strides, shape), start)
                node = node._replace(shape=place.shape, told=(index, there, form))
            elif node.op != "number":
                args = tuple([moved[arg] for arg in node.args])
                node = node._replace(args=args, shape=place.shape)
            moved[one] = self.known(node)
        return moved[number]

    def needed(self, number: int) -> list[int]:
        """A node and those that it needs, which were made before it, in order."""
        found = {number}
        for one in range(number, -1, -1):
            found.update(self.nodes[one].args if one in found else ())
        return sorted(found)

    def through(self, place: Place, shape: Shape, strides: Shape, start: int) -> Place:
        """Where a view of dense elements is in memory that has these strides instead."""
        dense, rest, first = dense_strides(shape), place.start, []
        for step in dense:
            index, rest = divmod(rest, step)
            first.append(index)
        start += sum(i * s for i, s in zip(first, strides, strict=True))
        last, found = list(first), []
        for n, step in zip(place.shape, place.strides, strict=True):
            axes = [a for a, d in enumerate(dense) if shape[a] > 1 and d <= abs(step)]
            if n < 2 or not axes:
                found.append(0)
                continue
            many, rest = divmod(step, dense[axes[0]])
            (first if many < 0 else last)[axes[0]] += (n - 1) * many
            found.append(many * strides[axes[0]])
            if rest:
                self.refuse(_SHAPE)
        inside = zip(first, last, shape, strict=True)
        if math.prod(place.shape) and any(a < 0 or b >= n for a, b, n in inside):
            self.refuse(_SHAPE)
        return Place(place.shape, tuple(found), start)

    def reduced(self, kind: str, x: View[Any], out: View[Any]) -> int:
        """The node of a reduction of rows."""
        arg, place = self.home.get(x.buffers[0], -1), x.place
        if arg < 0 or self.nodes[arg].op in ("leaf", "reduce"):
            arg, place = self.node(x, x), _dense(x.shape)
        return self.add("reduce", (arg,), out, (kind, place))

    def converted(self, view: View[Any], form: Format) -> View[Any]:
        """A view's elements in another format: of an operand where it is read."""
        out = allocate(form, view.shape, self.queue)
        number = self.node(view, view)
        node = self.nodes[number]
        if node.op == "leaf" and node.told[2] is None:
            read = _READ_AS.get((str(view.elements), form.name))
            told = (*node.told[:2], formats.get(read) if read else form)
            self.home[out.buffers[0]] = self.add("leaf", (), out, told)
        elif isinstance(view, Planes) and view.format.arithmetic is form.arithmetic:
            self.home[out.buffers[0]] = self.add("convert", (number,), out)
        else:
            self.refuse(f"it converts a result of {view.elements} to {form}; convert outside")
        return out

    # --- the end --------------------------------------------------------------------------------

    def ended(self, function: Callable[..., Any], view: View[Any]) -> Traced:
        """What the function does that returns this view."""
        number, kind, result = self.home.get(view.buffers[0], -1), "", None
        if number >= 0 and self.nodes[number].op == "reduce":
            (kind, rows), (number,) = self.nodes[number].told, self.nodes[number].args
            result, shape = view.place, self.nodes[number].shape
        else:
            number, rows, shape = self.node(view, view), _dense(view.shape), view.shape
        order = self.needed(number)
        leaves = [n for n in order if self.nodes[n].op in ("leaf", "number")]
        read = [self.nodes[n].told[0] for n in leaves if self.nodes[n].op == "leaf"]
        if not read:
            self.refuse("its result depends on no argument")
        kinds = dict.fromkeys([self.nodes[n].elements for n in order])
        forms = {one.arithmetic for one in kinds if isinstance(one, Format)}
        if len(forms) != 1 or any(one != TRUTH for one in kinds if isinstance(one, str)):
            named = " and ".join(map(str, kinds))
            self.refuse(f"it computes with {named}; operands of one format are needed")
        lies = tuple([self.leaf_kind(self.nodes[n]) for n in leaves])
        lines = self.lines(order, leaves, bool(kind))
        of = expression(forms.pop().name, lies, lines, str(self.nodes[number].elements), kind)
        return Traced(function, read[0], of, tuple(map(self.leaf, leaves)), shape, rows, result)

    def leaf(self, number: int) -> Any:
        """How ``Traced`` finds an operand: by its number, as it is or seen otherwise; its limbs."""
        node = self.nodes[number]
        if node.op == "number":
            return node.told[0]
        index, place, form = node.told
        whole = place == list(self.operands.values())[index]
        return index if whole and form is None else node.told

    def leaf_kind(self, node: Node) -> str:
        """In which format an operand lies; ``bool``, or nothing for a number."""
        read = node.told[2] if node.op == "leaf" else None
        return "" if node.op == "number" else str(read if read and read.coded else node.elements)

    def lines(self, order: Sequence[int], leaves: Sequence[int], stored: bool) -> tuple[str, ...]:
        """The network's listing; *stored*: whether its result is rounded, too."""
        names = {number: operand_name(i) for i, number in enumerate(leaves)}
        lines: list[str] = []
        for number in order:
            if number in names:
                continue
            node = self.nodes[number]
            of = [self.nodes[arg] for arg in node.args]
            text = _text(node, [names[arg] for arg in node.args], of)
            exact = node.op in EXACT and not any(one.op == "number" for one in of)
            if isinstance(node.elements, Format) and (stored or number != order[-1]) and not exact:
                net = rounding(node.elements)
                text = f"{net}({text})" if net else text
            names[number] = f"v{len(lines)}"
            lines.append(f"{names[number]} = {text}")
        return (*lines, f"return {names[order[-1]]}")


def _text(node: Node, args: Sequence[str], of: Sequence[Node]) -> str:
    """An operation as a part of a listing."""
    if node.op == "select":
        return f"select({args[2]}, {args[0]}, {args[1]})"
    if node.op in ("convert", "fill"):
        return args[0]
    form = of[0].elements
    if isinstance(form, Format):
        return f"{form.operator(node.op).name}({', '.join(args)})"
    return _LOGIC[node.op].format(*args)


_NOT_FUSED = {
    "conversions": "converts or takes apart numbers (astype, frexp, rint)",
    "gemm": "multiplies matrices (@, matmul, dot)",
    "lu": "factors a matrix or solves a system",
    "order": "sorts or searches (sort, median, argmax, searchsorted)",
    "plain": "counts or asks of whole rows (all, any, count_nonzero, arange)",
    "reduce": "multiplies vectors or matrices (dot, @, vdot), or bounds a sum",
    "scan": "adds up along an axis (cumsum, cumprod)",
}
"""What calls of a routine do, in words of users: by the routines that are asked for most."""


def _dense(shape: Shape) -> Place:
    return Place(shape, dense_strides(shape), 0)


_CALLS: dict[Any, str] = {routine.fill: "fill", moves.selected: "select"}
"""What routines are noted as; others by the operation that they are told."""
