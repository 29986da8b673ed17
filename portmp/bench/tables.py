"""Results as text: quantities in their units, columns, and tables of rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Row = dict[str, Any]
Rows = Sequence[Row]
Field = str | Callable[[Row], Any]
_SMALL = ((1, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p"))
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
TEXT = "text"
"""The unit of what is no quantity; ``words`` is the same, flush right."""


# --- quantities -------------------------------------------------------------------------------


def _scaled(value: float, prefixes: Sequence[tuple[float, str]], unit: str) -> str:
    """Three digits and the first prefix that is not above the value, else the last one."""
    scale, prefix = next((each for each in prefixes if abs(value) >= each[0]), prefixes[-1])
    return f"{value / scale:.3g} {prefix}{unit}"


def quantity(value: float, unit: str) -> str:
    """``4.19 G/s``: three digits and a prefix."""
    return _scaled(value, _LARGE, unit)


def duration(seconds: float) -> str:
    """Seconds in a unit that suits them."""
    return _scaled(seconds, _SMALL[:-1], "s")


def joules(value: float) -> str:
    """``364 pJ``: three digits and a prefix."""
    return _scaled(value, _SMALL, "J")


def number(value: float | None, digits: int = 3) -> str:
    """A few digits, or a dash for nothing."""
    if value is not None and 10**digits <= abs(value) < 1e6:
        return f"{value:.0f}"
    return "-" if value is None else f"{value:.{digits}g}"


def shape_text(shape: Sequence[int]) -> str:
    """``1000x64x64x64``, and powers of two as such where the shape is one large number."""
    if len(shape) == 1 and shape[0] >= 2**16 and shape[0].bit_count() == 1:
        return f"2^{shape[0].bit_length() - 1}"
    return "x".join(map(str, shape))


_UNITS: dict[str, Callable[[Any], str]] = {
    "": number,
    TEXT: str,
    "s": duration,
    "J": joules,
    "shape": shape_text,
    "%": lambda share: f"{100 * share:.0f} %",
    "yes": lambda right: "yes" if right else "NO",
    "words": str,
}


def shown(value: Any, unit: str = "") -> str:
    """A value in its unit: a name above, ``.4g`` and the like, or what a prefix precedes."""
    if value is None:
        return "-"
    if unit in _UNITS:
        return _UNITS[unit](value)
    return format(value, unit) if unit.startswith(".") else quantity(value, unit)


def value_of(row: Any, path: str) -> Any:
    """What *path*, names with points between, leads to in a row; None where it leads nowhere."""
    for name in path.split("."):
        row = row.get(name) if isinstance(row, Mapping) else None
    return row


# --- tables -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column: its heading, where its values lie in a row (or what makes them), and their unit.

    ``key``: rows are told apart by it; ``compared``: two reports are compared by it. ``paper``
    leads to what the paper states, with fields of the row in braces: ``MI100.{root}``.
    """

    heading: str
    field: Field = ""
    unit: str = ""
    key: bool = False
    compared: bool = False
    paper: str = ""

    def value(self, row: Row, paper: Row | None = None) -> Any:
        """What a row, or the paper, has there."""
        if self.paper:
            return value_of(paper, self.paper.format_map(row))
        return value_of(row, self.field) if isinstance(self.field, str) else self.field(row)

    def cell(self, row: Row, paper: Row | None = None) -> str:
        """The same as text."""
        return shown(self.value(row, paper), self.unit)


def key(heading: str, path: Field = "", unit: str = TEXT) -> Column:
    """A column that tells rows apart; its field is called as its heading if no other is named."""
    return Column(heading, path or heading, unit, key=True)


ENERGY = (
    Column("GFLOP/s/W", "energy.gflops_per_watt"),
    Column("J/op", "energy.joules_per_operation", "J"),
)
"""Operations a second per watt, and joules of an operation."""


@dataclass(frozen=True)
class Grid:
    """A table's texts: what heads its columns, its lines, which columns are flush left."""

    title: str
    heads: Sequence[str]
    cells: Sequence[Sequence[str]]
    left: Sequence[bool]

    def lines(self) -> list[str]:
        """Lines of one width each below the title; quantities are flush right."""
        widths = [max(map(len, each)) for each in zip(self.heads, *self.cells, strict=True)]
        return [
            *filter(None, [self.title]),
            *(
                "  ".join(
                    cell.ljust(width) if flush else cell.rjust(width)
                    for flush, cell, width in zip(self.left, line, widths, strict=True)
                ).rstrip()
                for line in (self.heads, *self.cells)
            ),
        ]


@dataclass(frozen=True)
class Table:
    """Rows below a title. ``pivot``: a field whose values head columns of their own.

    Then rows that agree in the columns before become one line, the column called as the field has
    its values, and columns behind it tell of the line's last row.
    """

    title: str
    columns: Sequence[Column]
    rows: Rows
    paper: Row = field(default_factory=dict)
    pivot: str = ""

    def lines(self) -> list[str]:
        """The table as text, with energies where any row has them."""
        if not self.rows:
            return [self.title, "nothing was measured"]
        first, *others = self.grids()
        return [*first.lines(), *(line for grid in others for line in ["", *grid.lines()])]

    def grids(self) -> list[Grid]:
        """The table's texts, and those of energies where any row has them; nothing without rows."""
        if not self.rows:
            return []
        has_energy = any(row.get("energy") for row in self.rows)
        if self.pivot:
            grids = [self._spread(self.columns)]
            return grids + ([self._energies()] if has_energy else [])
        columns = [*self.columns]
        if has_energy and ENERGY[0] not in columns:
            columns += ENERGY
        cells = [[c.cell(row, self.paper) for c in columns] for row in self.rows]
        return [Grid(self.title, [c.heading for c in columns], cells, flush_left(columns))]

    def _energies(self) -> Grid:
        names = " and ".join(c.heading for c in ENERGY)
        energy = Column(self.pivot, _pair, TEXT)
        keys = [c for c in self.columns[: self._at()] if c.key]
        title = f"energy, {self.title.partition(':')[0]}: {names}"
        return replace(self, title=title)._spread([*keys, energy])

    def _at(self, columns: Sequence[Column] | None = None) -> int:
        """Which column is spread out."""
        return [c.heading for c in columns or self.columns].index(self.pivot)

    def _spread(self, columns: Sequence[Column]) -> Grid:
        at = self._at(columns)
        keys = [c for c in columns[:at] if c.key]
        names = list(dict.fromkeys(row[self.pivot] for row in self.rows))
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows:
            groups.setdefault(tuple(c.cell(row) for c in keys), []).append(row)
        heads = [c.heading for c in columns]
        heads[at : at + 1] = map(str, names)
        cells = []
        for rows in groups.values():
            found = {row[self.pivot]: columns[at].cell(row, self.paper) for row in rows}
            cells.append(
                [
                    *(c.cell(rows[0], self.paper) for c in columns[:at]),
                    *(found.get(name, "-") for name in names),
                    *(c.cell(rows[-1], self.paper) for c in columns[at + 1 :]),
                ]
            )
        spread = [*columns[:at], *(Column(str(n)) for n in names), *columns[at + 1 :]]
        return Grid(self.title, heads, cells, flush_left(spread))


def _pair(row: Row) -> str:
    return ", ".join(c.cell(row) for c in ENERGY) if row.get("energy") else "-"


def flush_left(columns: Sequence[Column]) -> list[bool]:
    """Which columns hold names rather than quantities."""
    return [(c.key and c.unit in (TEXT, "shape")) or c.unit == TEXT for c in columns]


def text(parts: Iterable[Table | str]) -> list[str]:
    """Tables and sentences, one behind the other, an empty line before each table but the first."""
    lines: list[str] = []
    for part in parts:
        if isinstance(part, Table):
            lines += [*([""] if lines else []), *part.lines()]
        else:
            lines.append(part)
    return lines


def energy_lines(part: Row) -> list[str]:
    """What tells a device's energy and its idle power, or why nothing does; none if not asked."""
    found = part.get("energy")
    if not found:
        return []
    if not found["read"]:
        return [f"energy: not read: {found['problem']}"]
    lines = [f"energy: {found['read']}; idle {found['idle_watts']:.3g} W"]
    return lines + ([f"energy: not of all cases: {found['problem']}"] if found["problem"] else [])
