"""Figures as SVG within a page: matplotlib draws, the page's style gives colours and letters.

matplotlib knows no style sheets. It draws in colours that stand for roles (``ROLES``), and the
text that it writes has the page's variables put in their place, so that one figure serves light,
dark and print. Marks get titles (what a pointer over them shows), series get classes (which the
page's script hides). Names of devices and formats never get there as mathematics.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from portmp.errors import BackendUnavailable
from portmp.files import pictures

WIDTH, WIDER, HEIGHT = 4.4, 9.2, 3.2
"""Inches: 72 units of the page each. Letters stay readable where a phone shows them at 80 %."""
LETTERS = 10.5
ROW = 0.34
"""Inches of a named row."""
HUES = 8
"""Colours of the page; further series have them again with other marks."""
MARKS = {"o": "●", "s": "■", "D": "◆", "^": "▲", "v": "▼", "*": "★", "X": "✖", "P": "✚"}
"""Marks, and their letters in lists of series; each round of colours begins with another one."""
ROLES = {"ink": "#010a01", "grid": "#010a02"} | {f"s{i}": f"#010b{i:02x}" for i in range(HUES)}
"""Colours that stand for variables of the style sheet."""
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
Point = tuple[float, float, str]
"""Where a mark lies, and what is said of it."""


@dataclass(frozen=True)
class Series:
    """Marks of one name; ``line`` joins them, ``marked`` shows them, ``labels`` stand beside."""

    name: str
    points: Sequence[Point]
    line: bool = True
    marked: bool = True
    dashed: bool = False
    labels: Sequence[str] = ()


@dataclass(frozen=True)
class Figure:
    """A picture of series: what it is about, its words for those who do not see it, its axes.

    ``device``: the key of the device that it is of; ``names``: what stands along the vertical axis
    instead of numbers; ``wide``: it has a line of the page for itself.
    """

    title: str
    alternative: str
    series: Sequence[Series]
    across: str
    up: str
    device: str = ""
    logs: tuple[bool, bool] = (True, True)
    names: Sequence[str] = ()
    base: int = 10
    note: str = ""
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    wide: bool = False


def pyplot() -> Any:
    """matplotlib's pyplot without a screen; BackendUnavailable where it is missing."""
    try:
        return pictures.pyplot()
    except ImportError:
        raise BackendUnavailable("figures need matplotlib: pip install matplotlib") from None


def style() -> dict[str, Any]:
    """matplotlib's settings: thin lines, the page's letters, the same text each time."""
    ink, grid = ROLES["ink"], ROLES["grid"]
    colours = ("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "text.color")
    return {
        **dict.fromkeys(colours, ink),
        "svg.fonttype": "none",
        "svg.hashsalt": "portmp",
        "text.parse_math": False,
        "axes.formatter.use_mathtext": False,
        "font.size": LETTERS,
        "axes.linewidth": 0.8,
        "axes.grid": True,
        "grid.color": grid,
        "grid.linewidth": 0.7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "lines.markersize": 4.5,
        "lines.linewidth": 1.3,
    }


def drawn(figure: Figure, identity: str, broad: bool = False, titled: bool = False) -> str:
    """The figure's SVG text; *identity* begins its names within the page; *broad*: for a desk."""
    plt = pyplot()
    # Rows of names, each with its name above it, need room of their own.
    height = 0.7 + ROW * len(figure.names) if figure.names else HEIGHT
    with plt.rc_context(style()):
        picture, axes = plt.subplots(
            figsize=(WIDER if broad else WIDTH, height + 0.8 * broad),
            layout="constrained",
            facecolor="none",
        )
        try:
            _plot(axes, figure)
            if titled:
                axes.set_title(figure.title, loc="left", fontsize=LETTERS, fontweight="bold")
            if any(series.labels for series in figure.series):
                axes.margins(x=0.12)
                picture.draw_without_rendering()
                _label(axes, figure)
            text = io.StringIO()
            picture.savefig(text, format="svg", transparent=True, metadata={"Date": None})
        finally:
            plt.close(picture)
    return page_text(text.getvalue(), figure, identity)


def alone(figure: Figure, style: str) -> str:
    """The figure as a file of its own, with the colours of a *style* sheet, light and dark."""
    text = drawn(figure, "f", broad=True, titled=True)
    box = re.search(r'viewBox="([^"]+)"', text)
    width, height = box[1].split()[2:] if box else ("100%", "100%")
    rules = style.partition("* { box-sizing")[0]
    font = f'svg {{ font: {LETTERS}px system-ui, "DejaVu Sans", sans-serif; }}'
    ground = f'<rect width="{width}" height="{height}" style="fill: var(--paper)"/>'
    head, _, rest = text.partition(">")
    return f'{head} width="{width}" height="{height}"><style>{rules}{font}</style>{ground}{rest}\n'


def mark(i: int) -> str:
    """The mark of a series."""
    return list(MARKS)[(i + 3 * (i // HUES)) % len(MARKS)]


def letter(i: int, series: Series) -> str:
    """What stands for a series in a list: its mark, or a dash."""
    return MARKS[mark(i)] if series.marked else "╌"


def _plot(axes: Any, figure: Figure) -> None:
    axes.set_facecolor("none")
    axes.set_axisbelow(True)
    for i, series in enumerate(figure.series):
        dashed = series.dashed or i >= HUES
        x, y = [p[0] for p in series.points], [p[1] for p in series.points]
        axes.plot(
            x,
            y,
            color=ROLES[f"s{i % HUES}"],
            linestyle=("--" if dashed else "-") if series.line else "none",
            marker=mark(i) if series.marked else None,
            gid=f"series-{i}",
        )
    for which, log in zip("xy", figure.logs, strict=True):
        if log:
            getattr(axes, f"set_{which}scale")("log", base=figure.base if which == "x" else 10)
            _plain_ticks(getattr(axes, f"{which}axis"), figure.base if which == "x" else 10)
    for which, ends in figure.ends.items():
        getattr(axes, f"set_{which}lim")(*ends)
    if figure.names:
        axes.set_yticks(range(len(figure.names)), [""] * len(figure.names))
        axes.set_ylim(len(figure.names) - 0.6, -0.8)
        for i, name in enumerate(figure.names):
            place = {"transform": axes.get_yaxis_transform(), "va": "center"}
            axes.text(0.01, i - 0.45, name, parse_math=False, **place)
    axes.set_xlabel(figure.across)
    axes.set_ylabel(figure.up)


def _label(axes: Any, figure: Figure) -> None:
    """Words beside marks, within the axes, above or below, but where one would lie on another."""
    taken: list[tuple[float, float, float]] = []
    points = 72 / axes.figure.dpi
    first, last = axes.bbox.x0 * points, axes.bbox.x1 * points
    for i, series in enumerate(figure.series):
        for j, (label, point) in enumerate(zip(series.labels, series.points, strict=False)):
            x, y = (float(v) * points for v in axes.transData.transform(point[:2]))
            width = 0.5 * LETTERS * len(label)
            for side, lift in itertools.product((6, -6), (4.0, -4.0 - 0.8 * LETTERS)):
                left = x + side - (width if side < 0 else 0)
                if not first < left < last - width or any(
                    left < b and a < left + width and abs(y + lift - at) < LETTERS
                    for a, b, at in taken
                ):
                    continue
                taken.append((left, left + width, y + lift))
                place = {"xytext": (side, lift), "ha": "left" if side > 0 else "right"}
                style = {"fontsize": 0.85 * LETTERS, "parse_math": False, "gid": f"series-{i}.{j}"}
                word = axes.annotate(label, point[:2], textcoords="offset points", **place, **style)
                word.set_in_layout(False)
                break


def _plain_ticks(axis: Any, base: int) -> None:
    """Powers as numbers with prefixes, without mathematics."""
    from matplotlib import ticker

    low, high = sorted(axis.get_view_interval())
    if base == 10 and low > 0 and high < 30 * low:  # less than a decade and a half
        axis.set_major_locator(
            ticker.LogLocator(subs=(1, 2, 5) if high > 5 * low else range(1, 10))
        )
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: power_text(value, base)))


def power_text(value: float, base: int) -> str:
    """A tick: ``100 k``, ``1 G``, ``10 f``; powers of two as whole numbers."""
    if base == 2:
        return str(int(value)) if value < 2**20 else f"{value / 2**20:g} Mi"
    if 1e-3 <= value < 1e4:
        return f"{value:g}"
    for scale, prefix in _PREFIXES:
        if value >= 0.999 * scale:
            return f"{value / scale:.3g} {prefix}".strip()
    return f"{value:.0e}"


_PREFIXES = [
    (10.0 ** (3 * i), prefix)
    for i, prefix in zip(
        range(6, -7, -1), ["E", "P", "T", "G", "M", "k", "", *"mµnpfa"], strict=True
    )
]


# --- from matplotlib's text to the page's -------------------------------------------------------


def page_text(text: str, figure: Figure, identity: str) -> str:
    """What matplotlib wrote, as a part of the page."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", text))
    for name in ("metadata", "defs"):
        for found in root.findall(f"{{{_SVG}}}{name}"):
            if name == "metadata" or found.find(f"{{{_SVG}}}style") is not None:
                root.remove(found)
    box = root.get("viewBox")
    root.attrib.clear()
    root.set("viewBox", box or "")
    root.set("role", "img")
    root.set("aria-labelledby", f"{identity}-t {identity}-a")
    described = [ElementTree.Element(f"{{{_SVG}}}{tag}") for tag in ("title", "desc")]
    described[0].text, described[1].text = figure.title, figure.alternative
    for element, end in zip(described, "ta", strict=True):
        element.set("id", f"{identity}-{end}")
    _named(root, identity)
    for i, series in enumerate(figure.series):
        _told(root, f"{identity}-series-{i}", series)
    root[:0] = described
    whole = ElementTree.tostring(root, encoding="unicode")
    for role, colour in ROLES.items():
        whole = whole.replace(colour, f"var(--{role})")
    whole = re.sub(r"font-(size|family): [^;\"]*;? ?", "", whole)
    whole = re.sub(r" transform=\"rotate\(-?0 [^\"]*\"", "", whole)
    whole = re.sub(r"([0-9]\.[0-9]{2})[0-9]+", r"\1", whole)
    return re.sub(r">\s+<", "><", whole)


def _named(root: ElementTree.Element, identity: str) -> None:
    """Names within this figure alone; a class for each series; links by the plain attribute."""
    linked = {e.get("id") for d in root.iter(f"{{{_SVG}}}defs") for e in d.iter()}
    for element in root.iter():
        name = element.get("id", "")
        if name.startswith("series-"):
            element.set("class", name.partition(".")[0])
        if name.startswith("series-") or name in linked:
            element.set("id", f"{identity}-{name}")
        elif not name.startswith(f"{identity}-"):
            element.attrib.pop("id", None)
        link = element.attrib.pop(f"{{{_XLINK}}}href", None)
        if link:
            element.set("href", f"#{identity}-{link.removeprefix('#')}")
        for attribute, value in element.items():
            if "url(#" in value:
                element.set(attribute, value.replace("url(#", f"url(#{identity}-"))


def _told(root: ElementTree.Element, name: str, series: Series) -> None:
    """Titles of the marks of a series, in the order of its points."""
    group = next((e for e in root.iter() if e.get("id") == name), None)
    marks = [] if group is None else list(group.iter(f"{{{_SVG}}}use"))
    if len(marks) == len(series.points):
        for mark, (_, _, said) in zip(marks, series.points, strict=True):
            title = ElementTree.SubElement(mark, f"{{{_SVG}}}title")
            title.text = said
