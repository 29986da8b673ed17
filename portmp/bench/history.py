"""Two builds by turns, as reports of a checkout's script ``bench/history.py`` are shown."""

from portmp.bench.experiment import Experiment, Family, spread
from portmp.bench.tables import Column, key

COLUMNS = (
    key("kernel"),
    Column("n", "n", ".0f", key=True),
    Column("time", "seconds.median", "s", compared=True),
    Column("spread", spread, "%"),
    Column("reference", "reference_seconds.median", "s"),
    Column("spread", lambda r: spread({"seconds": r["reference_seconds"]}), "%"),
    Column("new/reference", "ratio.median", ".3f"),
    Column("from", "ratio.lower", ".3f"),
    Column("to", "ratio.upper", ".3f"),
    Column("change", "change", "words"),
    Column("bits", "bits", "words"),
)


class History(Family):
    """Kernels and calls beside a reference build, as information; measured by the script alone."""

    name = "history"
    experiments = (
        Experiment(
            "turns",
            lambda run: (),
            COLUMNS,
            "rates by turns, over those of the reference {reference}: medians and quartiles",
            label=lambda row: str(row["kernel"]),
            judged=False,
        ),
    )


FAMILY = History()
