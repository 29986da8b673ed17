"""Pictures of results with matplotlib, which is optional: checked first, written last."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from portmp.errors import BackendUnavailable, InputError, suggestion
from portmp.files import target


def check(path: Path) -> None:
    """Refuse, before anything is computed, a picture that could not be written after it."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise BackendUnavailable("--plot needs matplotlib: pip install matplotlib") from None
    kinds = FigureCanvasBase.get_supported_filetypes()
    if _kind(path) not in kinds:
        raise InputError(
            f"--plot {path}: unknown kind of picture {path.suffix!r}"
            f"{suggestion(_kind(path), list(kinds))}; allowed are {', '.join(sorted(kinds))}"
        )
    target.check_place(path)


def outputs(report: str | None, picture: str | None) -> tuple[Path | None, Path | None]:
    """Where a report and a picture go, once both can be written."""
    written, drawn = (Path(name) if name else None for name in (report, picture))
    if written:
        target.check_place(written)
    if drawn:
        check(drawn)
    return written, drawn


def _kind(path: Path) -> str:
    """The kind of picture that the extension names."""
    return path.suffix.removeprefix(".").lower() or "png"


def pyplot() -> Any:
    """matplotlib's pyplot, drawing without a screen."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def bars(
    axes: Any,
    series: Mapping[str, Mapping[str, float]],
    colours: Mapping[str, Any] | None = None,
    **letters: Any,
) -> None:
    """A group of bars for each name that the series have, in their order; *letters*: of names."""
    groups = list(dict.fromkeys(name for found in series.values() for name in found))
    width = 0.8 / max(1, len(series))
    for i, (label, found) in enumerate(series.items()):
        places = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        more = {"color": colours[label]} if colours else {}
        axes.bar(places, [found.get(name, 0) for name in groups], width, label=label, **more)
    axes.set_xticks(range(len(groups)), groups, **letters)


def write(path: Path, figure: Any) -> None:
    """Write *figure* and close it; InputError where that fails."""
    picture = io.BytesIO()
    try:
        figure.savefig(picture, dpi=150, format=_kind(path))
    except (OSError, ValueError, RuntimeError, ImportError) as error:  # pgf runs LaTeX
        raise InputError(f"--plot {path}: {' '.join(str(error).split())}") from None
    finally:
        pyplot().close(figure)
    target.replace(path, picture.getvalue())
