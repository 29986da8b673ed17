"""The language in which arithmetic is written down.

A network is a typed straight-line program. Its listing uses Python's syntax, so
that it reads like the algorithm in the paper::

    s, e = two_sum(x[0], y[0])
    e = e + (x[1] + y[1])
    s, e = fast_two_sum(s, e)
    return s, e

Gates: ``two_sum``, ``fast_two_sum``, ``two_prod`` (error-free transformations, two
results); ``+ - * /``, unary ``-``, ``fma``, ``sqrt``, ``fabs`` (one IEEE operation each,
rounded to nearest even); ``finite``, ``nonzero``, ``isnan``, ``less``, ``negative`` (the sign
bit), ``both``, ``either``, ``opposite`` and ``select`` (flags, and selection by them);
``exponent`` (e of a normal word from 2^e up to 2^(e+1)), ``power_of_two`` (2^n for an integral n
within the normal range), ``scale`` (2^-e as long as it and 2^e are normal), ``copysign``;
and calls of other networks. Literals are exact words. A product never feeds an addition within one
expression: fused operations are written ``fma``.

A value may have one limb: ``x[0]`` of a word is the word, and so is ``(x,)``.
Operators on values are calls of the networks of their number of limbs, ``x * y`` of ``mul2`` and
``x + w`` with a word of ``add2_word``; ``select`` takes values too. ``seldom(flag, net(x), y)`` is
``select`` of what need not be computed where no flag is set: a branch on devices.

Beside listings there are two kinds of networks with tables: a lookup (``lookup``) gives the entry
of an index, and a fold (``fold``) goes through rows of constants: Horner's rule, products, sums.

The same program is rendered into device functions (templates/arithmetic) and evaluated
on the host (portmp.networks.evaluator), which is why the two cannot differ.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from portmp.errors import FormatError, suggestion

FLAGS = ("finite", "nonzero", "isnan", "less", "negative", "both", "either", "opposite")
"""Gates whose result is a flag for ``select``."""
GATE_COST = {
    "two_sum": {"add": 6},
    "fast_two_sum": {"add": 3},
    "two_prod": {"mul": 1, "fma": 1},
    "fma": {"fma": 1},
    "sqrt": {"sqrt": 1},
    "fabs": {},
    "scale": {"bits": 4},
    "select": {"select": 1},
    **{name: {"compare": 1} for name in ("finite", "nonzero", "isnan", "less")},
    **{name: {"bits": 1} for name in ("negative", "both", "either", "opposite")},
    "exponent": {"bits": 3, "add": 1},
    "power_of_two": {"bits": 1, "add": 1},
    "copysign": {"bits": 3},
}
"""Gates, and the instructions of each by class."""
GATE_RESULTS = dict.fromkeys(GATE_COST, 1) | {"two_sum": 2, "fast_two_sum": 2, "two_prod": 2}
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
}
COST_OF = {"add": "add", "sub": "add", "mul": "mul", "div": "div"}


@dataclass(frozen=True)
class Kind:
    """What a name stands for: a word, a value of ``words`` limbs, or an unnormalised sum.

    Of a complex value ``words`` are those of the real part, then those of the imaginary part.
    """

    words: int
    role: str = "value"

    def __str__(self) -> str:
        return self.role if self.role in ("word", "flag") else f"{self.role}{self.words}"


WORD = Kind(1, "word")
FLAG = Kind(1, "flag")


def _kind(text: str) -> Kind:
    if text in ("word", "flag"):
        return Kind(1, text)
    role = {"+": "sum", "c": "complex"}.get(text[0])
    return Kind(int(text[1:]), role) if role else Kind(int(text))


@dataclass(frozen=True)
class Expr:
    """An expression: ``op`` is a name, literal, limb, operator, gate, tuple or network call."""

    op: str
    args: "tuple[Expr, ...]" = ()
    name: str = ""
    index: int = -1
    value: float = 0.0

    def parts(self, usual: bool = False) -> "Iterator[Expr]":
        """All expressions in it, itself last; *usual*: without what is seldom computed."""
        for arg in self.args[2:] if usual and self.op == "seldom" else self.args:
            yield from arg.parts(usual)
        yield self


@dataclass(frozen=True)
class Step:
    """``targets = expr``; several targets take the words of one expression."""

    targets: tuple[str, ...]
    expr: Expr


Row = tuple[float, ...]


@dataclass(frozen=True)
class Stage:
    """Part of a fold: the network *step* takes state, operands and a row's words to a new state."""

    step: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Network:
    """One operation of a format: a program, where it comes from, and what it guarantees.

    ``source`` names the paper and algorithm, ``bound`` the relative error in units of
    u^N with "proved", "measured" or "declared" beside it. A network without a listing is
    foreign: it branches on data or uses what only the platform has; ``needs`` names what its
    device template uses, ``template`` is its file. ``table`` are the entries of a lookup;
    ``start`` and ``stages`` make a fold.
    """

    name: str
    inputs: tuple[tuple[str, Kind], ...]
    result: Kind
    listing: str
    source: str
    bound: str
    needs: tuple[str, ...] = ()
    template: str = ""
    table: tuple[Row, ...] = ()
    start: Row = ()
    stages: tuple[Stage, ...] = ()

    @property
    def foreign(self) -> bool:
        """Whether the body is a device template and a Python twin instead of a listing."""
        return not self.listing

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._parsed[0])

    @cached_property
    def returned(self) -> Expr:
        return self._parsed[1]

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """The kind of every name, inputs and locals."""
        return self._parsed[2]

    @cached_property
    def _parsed(self) -> tuple[list[Step], Expr, dict[str, Kind]]:
        return _parse(self)

    @cached_property
    def program(self) -> Callable[..., Any]:
        """The listing as a function of gates (``evaluate``) and arguments."""
        return _program(self)

    @cached_property
    def calls(self) -> tuple[str, ...]:
        """Names of the networks that this one calls, in order, without repetition."""
        return self._names("call")

    @cached_property
    def gates(self) -> tuple[str, ...]:
        """Names of the gates used here (not those of called networks)."""
        return self._names("gate")

    def _names(self, op: str) -> tuple[str, ...]:
        if self.foreign:
            return tuple(n for n in self.needs if (n in GATE_RESULTS) == (op == "gate"))
        seldom = "seldom" if op == "call" else op
        found = (one.name for one in self.expressions() if one.op in (op, seldom))
        return tuple(dict.fromkeys(filter(None, found)))

    def expressions(self, usual: bool = False) -> Iterator[Expr]:
        """All expressions, in order; *usual*: without what is seldom computed."""
        for whole in (*(step.expr for step in self.steps), self.returned):
            yield from whole.parts(usual)

    @cached_property
    def rare(self) -> tuple[str, ...]:
        """Names of the networks that are seldom called."""
        found = (step.expr.args[1] for step in self.steps if step.expr.op == "seldom")
        return tuple(call.name for call in found if call.op == "call")

    @cached_property
    def cost(self) -> Counter[str]:
        """Instructions by class (add, mul, fma, div, sqrt, compare, select, bits), calls included.

        What is seldom computed does not count.
        """
        total: Counter[str] = Counter()
        for stage in self.stages:
            for what, count in get(stage.step).cost.items():
                total[what] += count * len(stage.rows)
        for expr in self.expressions(usual=True):
            if expr.op == "call":
                total.update(get(expr.name).cost)
            elif expr.op == "gate":
                total.update(GATE_COST[expr.name])
            elif expr.op in COST_OF:
                total[COST_OF[expr.op]] += 1
        return total

    def __str__(self) -> str:
        cost = " ".join(f"{n} {what}" for what, n in sorted(self.cost.items()))
        return f"{self.name}: {self.source}; {self.bound}; {cost}"


def network(
    name: str,
    signature: str,
    listing: str,
    *,
    source: str,
    bound: str,
    needs: tuple[str, ...] = (),
    template: str = "",
) -> Network:
    """Declare a network, e.g. ``network("add2", "x:2 y:2 -> 2", ...)``.

    In the signature ``x:2`` is a value of two limbs, ``y:word`` a plain word and
    ``s:+3`` an unnormalised sum of three words; ``c4`` a complex value of two limbs a part.
    """
    left, right = signature.split("->")
    pairs = (part.split(":") for part in left.replace(",", " ").split())
    inputs = tuple((name, _kind(text)) for name, text in pairs)
    return Network(name, inputs, _kind(right.strip()), listing, source, bound, needs, template)


class _Parser:
    """Turns one network's listing into steps and the returned expression."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self.kinds: dict[str, Kind] = dict(net.inputs)

    def fail(self, node: ast.AST, why: str) -> FormatError:
        line = getattr(node, "lineno", 1) - 1
        return FormatError(f"network {self.net.name!r}, line {line}: {why}")

    def expression(self, node: ast.expr) -> tuple[Expr, Kind]:
        """An expression and what it gives; two-result gates count as two words."""
        match node:
            case ast.Constant():
                return Expr("literal", value=float(str(node.value))), WORD
            case ast.Name():
                if node.id not in self.kinds:
                    raise self.fail(node, f"unknown name {node.id!r}")
                return Expr("name", name=node.id), self.kinds[node.id]
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(index))):
                if name not in self.kinds or index >= self.kinds[name].words:
                    raise self.fail(node, f"no limb {index} of {name!r}")
                if self.kinds[name].words == 1:
                    return Expr("name", name=name), WORD
                return Expr("limb", name=name, index=index), WORD
            case ast.Tuple(elts=[only]):
                return self.expression(only)
            case ast.Tuple():
                items = tuple(self.expression(e)[0] for e in node.elts)
                return Expr("tuple", items), Kind(len(items))
            case ast.UnaryOp(op=ast.USub()):
                arg, kind = self.expression(node.operand)
                return Expr("neg", (arg,)), kind
            case ast.BinOp() if type(node.op) in OPERATORS:
                return self._operation(node)
            case ast.Call(func=ast.Name(id=name)):
                return self._call(node, name)
        raise self.fail(node, f"not part of the language: {ast.unparse(node)}")

    def _operation(self, node: ast.BinOp) -> tuple[Expr, Kind]:
        op = OPERATORS[type(node.op)]
        (a, first), (b, second) = self.expression(node.left), self.expression(node.right)
        if first.words == second.words == 1:
            if op in ("add", "sub") and "mul" in (a.op, b.op):
                raise self.fail(node, "a product feeds an addition: write fma or name the product")
            return Expr(op, (a, b)), WORD
        if op == "sub":
            op, b = "add", Expr("neg", (b,))
        if first.words == 1 and op != "div":
            (a, first), (b, second) = (b, second), (a, first)
        n = first.words
        if second.words not in (1, n):
            raise self.fail(node, f"operands of {first.words} and {second.words} limbs")
        name = f"{op}{n}" if second.words == n else f"{op}{n}_word"
        return Expr("call", (a, b), name=name), get(name).result

    def _call(self, node: ast.Call, name: str) -> tuple[Expr, Kind]:
        found = [self.expression(a) for a in node.args]
        args = tuple(expr for expr, _ in found)
        if name in ("select", "seldom"):
            kind = found[2][1]
            of_values = f"select{kind.words}" if kind.words > 1 else ""
            if name == "seldom":
                if args[1].op != "call" or found[1][1].words != kind.words:
                    raise self.fail(node, "seldom takes a flag, a call, and what else it is")
                return Expr("seldom", args, name=of_values), kind
            name = of_values or name
        if name in GATE_RESULTS:
            kind = FLAG if name in FLAGS else Kind(GATE_RESULTS[name])
            return Expr("gate", args, name=name), kind
        net = get(name)
        needed = [kind.words for _, kind in net.inputs]
        if [kind.words for _, kind in found] != needed:
            raise self.fail(node, f"{name} takes operands of {needed} words")
        return Expr("call", args, name=name), net.result

    def step(self, node: ast.Assign) -> Step:
        """An assignment; inputs cannot be assigned to."""
        expr, kind = self.expression(node.value)
        match node.targets:
            case [ast.Tuple(elts=elements)]:
                names = tuple(t.id for t in elements if isinstance(t, ast.Name))
                self.kinds.update(dict.fromkeys(names, WORD))
            case [ast.Name(id=name)]:
                names = (name,)
                self.kinds[name] = kind if kind.words > 1 or kind == FLAG else WORD
            case _:
                raise self.fail(node, "only names can be assigned to")
        if any(name == given for name in names for given, _ in self.net.inputs):
            raise self.fail(node, f"assigns to an input: {', '.join(names)}")
        return Step(names, expr)


def _parse(net: Network) -> tuple[list[Step], Expr, dict[str, Kind]]:
    if net.foreign:
        return [], Expr("name", name=net.inputs[0][0]), dict(net.inputs)
    indented = "\n".join("    " + line for line in net.listing.strip().splitlines())
    function = ast.parse(f"def f():\n{indented}").body[0]
    assert isinstance(function, ast.FunctionDef)
    parser = _Parser(net)
    steps: list[Step] = []
    for node in function.body:
        if isinstance(node, ast.Return) and node.value is not None:
            return steps, parser.expression(node.value)[0], parser.kinds
        if not isinstance(node, ast.Assign):
            raise parser.fail(node, "only assignments and one return")
        steps.append(parser.step(node))
    raise FormatError(f"network {net.name!r} returns nothing")


Gates = Mapping[str, Callable[..., Any]]


def evaluate(net: Network, gates: Gates, *arguments: Any) -> Any:
    """Run *net* with the given gate implementations.

    *arguments* are words, or sequences of words for values and sums. *gates* maps the
    gate names, the operator names (add, sub, mul, div, neg), ``literal`` and any
    network that has its own implementation to functions. Returns a word or a tuple.
    """
    if net.name in gates:
        return gates[net.name](*arguments)
    if net.table:
        return gates["lookup"](net, *arguments)
    if net.stages:
        return _folded(net, gates, arguments)
    return net.program(gates, *arguments)


def _program(net: Network) -> Callable[..., Any]:
    """The function of a listing: names are its own, gates those that it is given."""
    used: dict[str, None] = {}

    def gate(name: str, *given: str) -> str:
        used[name] = None
        return f"gate_{name}({', '.join(given)})"

    def text(expr: Expr) -> str:
        args = [] if expr.op == "seldom" else [text(a) for a in expr.args]
        match expr.op:
            case "name":
                return expr.name
            case "limb":
                return f"{expr.name}[{expr.index}]"
            case "literal":
                return gate("literal", repr(expr.value).replace("inf", "1e999"))
            case "tuple":
                return f"({', '.join(args)},)"
            case "neg":
                return f"negated_({gate('neg')[:-2]}, {args[0]})"
            case "call":
                return f"evaluate_(get_({expr.name!r}), gates_, {', '.join(args)})"
            case "seldom":
                flag, call, other = expr.args
                computed = f"partial_(evaluate_, get_({call.name!r}), gates_)"
                operands = f"[{', '.join(map(text, call.args))}]"
                return gate("seldom", text(flag), computed, operands, text(other))
            case "gate":
                return gate(expr.name, *args)
        return gate(expr.op, *args)

    lines = [f"{name} = tuple({name})" for name, kind in net.inputs if kind.words > 1]
    lines += [f"{', '.join(step.targets)} = {text(step.expr)}" for step in net.steps]
    lines.append(f"return {text(net.returned)}")
    lines[:0] = [f"gate_{name} = gates_[{name!r}]" for name in used]
    head = f"def program(gates_, {', '.join(name for name, _ in net.inputs)}):"
    known: dict[str, Any] = {
        "evaluate_": evaluate,
        "get_": get,
        "partial_": partial,
        "negated_": _negated,
    }
    exec(compile("\n ".join([head, *lines]), f"<network {net.name}>", "exec"), known)
    program: Callable[..., Any] = known["program"]
    return program


def _negated(neg: Callable[[Any], Any], value: Any) -> Any:
    return tuple(map(neg, value)) if isinstance(value, tuple) else neg(value)


def cut(argument: Any, words: int) -> Any:
    """The leading words of a value; a word where they are one."""
    if not isinstance(argument, tuple):
        return argument
    return argument[0] if words == 1 else argument[:words]


def parts_of(row: Row, kinds: Sequence[Kind]) -> list[Row]:
    """A row's words, for operands of these kinds."""
    ends = [0]
    for kind in kinds:
        ends.append(ends[-1] + kind.words)
    return [row[a:b] for a, b in pairwise(ends)]


def _folded(net: Network, gates: Gates, arguments: Sequence[Any]) -> Any:
    """Evaluate a fold: constants are literals of one word or tuples of them."""
    literal = gates["literal"]

    def constant(row: Row) -> Any:
        words = tuple(literal(word) for word in row)
        return words[0] if len(words) == 1 else words

    state = constant(net.start) if net.start else arguments[0]
    arguments = arguments if net.start else arguments[1:]
    for stage in net.stages:
        step = get(stage.step)
        kinds = [kind for _, kind in step.inputs]
        held = state if isinstance(state, tuple) else (state,)
        state = cut(held + (literal(0.0),) * (kinds[0].words - len(held)), kinds[0].words)
        taken = len(arguments) + 1
        given = [cut(a, k.words) for a, k in zip(arguments, kinds[1:taken], strict=True)]
        for row in stage.rows:
            constants = [constant(part) for part in parts_of(row, kinds[taken:])]
            state = evaluate(step, gates, state, *given, *constants)
    return state


NETWORKS: dict[str, Network] = {}


def get(name: str) -> Network:
    """Return the network called *name*."""
    try:
        return NETWORKS[name]
    except KeyError:
        near = suggestion(name, list(NETWORKS))
        raise FormatError(f"unknown network {name!r}{near}") from None


def staged(rows: Iterable[tuple[str, Row]]) -> list[Stage]:
    """The stages of a fold from its rows, each with the step that takes it."""
    return [
        Stage(step, tuple(row for _, row in together))
        for step, together in groupby(rows, key=itemgetter(0))
    ]


def define(name: str, signature: str, listing: str, *, source: str, bound: str) -> None:
    """Add a network to the library."""
    NETWORKS[name] = network(name, signature, listing, source=source, bound=bound)


def declare(
    name: str,
    signature: str,
    template: str,
    *,
    source: str,
    bound: str,
    needs: tuple[str, ...] = (),
) -> None:
    """Add a foreign network: a device template, and a Python twin in portmp.networks.evaluator."""
    net = network(name, signature, "", source=source, bound=bound, template=template)
    NETWORKS[name] = replace(net, needs=needs)


def lookup(name: str, signature: str, table: Sequence[Row], *, source: str) -> None:
    """Add a network that gives the entry of an index, a word from 0 to len(table) - 1.

    Entries have as many words as the result.
    """
    net = network(name, signature, "", source=source, bound="exact", template="lookup.mako")
    assert all(len(row) == net.result.words for row in table)
    NETWORKS[name] = replace(net, table=tuple(table))


def fold(
    name: str, signature: str, start: Row, stages: Sequence[Stage], *, source: str, bound: str
) -> None:
    """Add a network that goes through rows of constants.

    The state begins as *start*, or where that is empty as the first operand. For each row of each
    stage it becomes step(state, x, ..., row), with as many words of the operands as the step
    takes; between stages the state gets zeros below.
    """
    net = network(name, signature, "", source=source, bound=bound, template="fold.mako")
    steps = tuple(dict.fromkeys(stage.step for stage in stages))
    NETWORKS[name] = replace(net, needs=steps, start=start, stages=tuple(stages))
