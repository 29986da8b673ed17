"""``portmp report``: a page of recorded runs, safe with any file, which works in a browser."""

from __future__ import annotations

import base64
import copy
import hashlib
import itertools
import json
import math
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import tiers
from browser import Browser, program

from portmp import cli, formats
from portmp.bench import reports
from portmp.bench.tables import Row
from portmp.errors import InputError
from portmp.report import checks, devices, drawing, figures, page, papers, sources, subjects
from portmp.report.drawing import Figure, Series
from portmp.report.subjects import Subject
from portmp.verify.cases import recorded_as

pytest.importorskip("matplotlib")

RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results"
FILES = [
    max(RESULTS.glob(f"{name}.json"))
    for name in (
        "blas-h200-cuda-2026-11-21",
        "energy-h200-2026-11-22",
        "nbody-h200-cuda-2026-11-22",
        "slfp-axpy-cpu-2026-11-22",
        "ts2021-h200-cuda-2026-11-22",
        "verify-h200-cuda-*",
        "verify-interpreted-gfx908-*",
    )
]
VERIFIED = json.loads(FILES[5].read_text())[0]
KEYS = [key for key in VERIFIED["digests"] if key in recorded_as(VERIFIED["definition"])]
DIGESTS = len(KEYS)
EVIL = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\"'&${1 + 1}$\\frac{"
)
"""A device's name that would run, were it not shown as text."""


def evil(data: Row) -> Row:
    """A report of a device with such a name, and in every text."""
    data = copy.deepcopy(data)
    for part in data["devices"]:
        part["facts"]["name"] = part["facts"]["driver"] = EVIL
        part["compiler"] = part["selected"] = EVIL
        part["skipped"].append(
            {"experiment": EVIL, "what": EVIL, "reason": f"\x1b[2J{EVIL}", "failed": False}
        )
        for row in part["experiments"]["blas"]["rows"]:
            row["format"] = row["routine"] = EVIL
    return data | {"portmp": EVIL, "commit": EVIL, "date": EVIL}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of some recorded runs and of a file that tries what it can."""
    folder = tmp_path_factory.mktemp("report")
    bad = folder / "bad.json"
    bad.write_text(json.dumps(evil(reports.read_all(FILES[0])[0])))
    target = folder / "page.html"
    assert cli.main(["report", *map(str, FILES), str(bad), "-o", str(target)]) == 0
    return target


def shown(path: Path) -> list[Subject]:
    """The devices of a file."""
    return subjects.sorted_by_device(subjects.read([path])[0])


class Checked(HTMLParser):
    """Elements, names, what they load, and whether tags close."""

    VOID = ("meta", "link", "input", "br")
    OPEN = ("td", "tr", "li", "option")
    """Whose end may be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.stack: list[str] = []
        self.events: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [found["id"]] if found.get("id") else []
        self.loads += [v or "" for k, v in attrs if k in ("src", "href", "action", "data")]
        self.events += [k for k, _ in attrs if k.startswith("on")]
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        while self.stack[-1] in self.OPEN and self.stack[-1] != tag:
            self.stack.pop()
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


# --- the page as text ---------------------------------------------------------------------------


def test_page_is_whole(made: Path) -> None:
    """Tags close, names are unique, nothing is loaded from elsewhere, no text became an element."""
    text = made.read_text(encoding="utf-8")
    found = Checked()
    found.feed(text)
    assert found.stack == []
    assert len(found.ids) == len(set(found.ids))
    known = {f"#{name}" for name in found.ids}
    assert all(target in known or target == "data:," for target in found.loads)
    assert found.events == []
    assert EVIL in found.text and "\x1b" not in text
    assert len(re.findall("<script", text)) == 1
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text and "default-src 'none'" in text


def test_page_says_what_was_measured(made: Path) -> None:
    """Rates, digests, papers' ratios, sources, what was left out."""
    text = Checked()
    text.feed(made.read_text(encoding="utf-8"))
    for words in (
        "NVIDIA H200",
        str(DIGESTS),
        "interpreted",
        "Under the roof",
        "Products of matrices: digits and speed",
        "Joules of an operation",
        "Beside the paper: Gravity on MI100 and A100",
        "__global__",
        "__kernel",
        "portmp render",
        "limit of",
    ):
        assert words in text.text, words
    assert "NOT AS RECORDED" not in text.text


def test_all_recorded_runs(tmp_path: Path, capsys: Any, record_property: Any) -> None:
    """One page below three megabytes; files of other kinds are named and left out."""
    target = tmp_path / "page.html"
    assert cli.main(["report", str(RESULTS), "-o", str(target)]) == 0
    size = target.stat().st_size
    record_property("remark page of all recorded runs", f"{size} bytes")
    assert size < 3e6
    text = target.read_text(encoding="utf-8")
    assert "host-h200-2026-11-21.json left out: is no report of portmp bench" in text
    assert "devices, " in capsys.readouterr().out


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables alone, and a line that says what installs it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    target = tmp_path / "page.html"
    assert cli.main(["report", str(FILES[1]), "-o", str(target)]) == 0
    text = target.read_text(encoding="utf-8")
    assert "figures need matplotlib: pip install matplotlib" in text and "<svg" not in text


# --- what is refused, and what is told ------------------------------------------------------------


def changed(path: Path, tmp_path: Path, change: Any) -> Path:
    """A file with something changed."""
    data = json.loads(path.read_text())
    change(data)
    found = tmp_path / path.name
    found.write_text(json.dumps(data))
    return found


def test_a_flipped_bit(tmp_path: Path, capsys: Any) -> None:
    """A digest that is not the recorded one is named, and the exit status is 1."""
    key = next(key for key in KEYS if key.startswith("gemm."))

    def flip(data: Any) -> None:
        digest = data[0]["digests"][key]
        data[0]["digests"][key] = f"{int(digest[0], 16) ^ 1:x}{digest[1:]}"

    file, target = changed(FILES[5], tmp_path, flip), tmp_path / "page.html"
    assert cli.main(["report", str(file), "-o", str(target)]) == 1
    assert "results are wrong" in capsys.readouterr().out
    text = target.read_text(encoding="utf-8")
    assert "NOT AS RECORDED" in text and f"digest of {key}: " in text
    assert f"{DIGESTS - 1} of {DIGESTS}" in text


def test_older_digests_are_left_out() -> None:
    """Of a device's file, where a newer report of the same definition has all of them."""
    known = dict(itertools.islice(recorded_as(VERIFIED["definition"]).items(), 20))

    def joined(older: dict[str, str], *, first: bool = True, earlier: int = 0) -> int:
        newer = VERIFIED | {"failures": [], "passed": 0, "total": 0, "digests": known}
        version = VERIFIED["definition"] - earlier
        found = [
            reports.current([one])
            for one in (newer | {"definition": version, "digests": older}, newer)
        ]
        return len(devices.joined(found if first else found[::-1], None)["reports"])

    some = dict(itertools.islice(known.items(), 10))
    assert joined(some | {"gemm.3/dd.1/no longer": "0" * 32}) == 1
    assert joined(some, first=False) == joined(dict.fromkeys(some, "0" * 32)) == 2
    assert joined(some, earlier=9) == 2


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("operations_per_second", "operations_per_second .* given"),
        ("bytes_per_second", "bytes_per_second .* given"),
        ("share", "share .* given, its floor says otherwise"),
        ("all", "of its instructions' ceiling, at most 110 % are possible"),
        ("memory", "the ceiling of memory is"),
    ],
)
def test_rates_that_cannot_be(field: str, message: str, tmp_path: Path) -> None:
    """Those that their own times or the ceilings of their run contradict."""

    def change(data: Any) -> None:
        rows = data["devices"][0]["experiments"]["blas"]["rows"]
        bound = "memory" if field == "memory" else "arithmetic"
        row = next(
            r for r in rows if r["floor"]["bound"] == bound and r["bytes"] > checks.CACHED / 2**10
        )
        if field in ("all", "memory"):
            row = max(
                (r for r in rows if r["floor"]["bound"] == bound), key=lambda r: float(r["bytes"])
            )
            for name in ("median", "lower", "upper"):
                row["seconds"][name] /= 2
            for name in ("operations_per_second", "bytes_per_second", "share"):
                row[name] *= 2
        else:
            row[field] *= 1.001

    (subject,) = shown(changed(FILES[0], tmp_path, change))
    found = checks.contradictions(subject)
    assert any(re.search(message, text) for text in found), found
    assert not checks.contradictions(shown(FILES[0])[0])


@pytest.mark.parametrize("path", [FILES[2], FILES[3], FILES[4]], ids=lambda p: p.stem[:6])
def test_rates_of_other_benchmarks(path: Path, tmp_path: Path) -> None:
    """Those of papers are what their times say."""
    report = reports.read_all(path)[0]
    part = report["devices"][0]
    assert list(checks.counts(report, part)) == []
    for found in part["experiments"].values():
        for row in found["rows"]:
            for name in ("operations_per_second", "interactions_per_second"):
                if name in row:
                    row[name] *= 1.001
    assert "its time says" in " ".join(checks.counts(report, part))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("[]", "is no report of portmp bench"),
        ('{"schema": {"name": "portmp bench", "version": 9}}', "this portmp reads version 3"),
        ('{"schema": {"name": "portmp bench", "version": 3}}', "is no report of portmp bench"),
        ("<script>", "is no JSON"),
    ],
)
def test_files_that_are_no_reports(text: str, message: str, tmp_path: Path, capsys: Any) -> None:
    """One sentence each, and no page."""
    bad, target = tmp_path / "bad.json", tmp_path / "page.html"
    bad.write_text(text)
    assert cli.main(["report", str(bad), "-o", str(target)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not target.exists()


def test_truncated_files(tmp_path: Path) -> None:
    """Wherever they end."""
    whole = FILES[1].read_bytes()
    bad = tmp_path / "bad.json"
    for size in range(0, len(whole) - 2, len(whole) // 23):
        bad.write_bytes(whole[:size])
        with pytest.raises(InputError):
            subjects.read([bad])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no file given"),
        ([str(FILES[0])], "-o PAGE.html is needed"),
        (["none.json", "-o", "x.html"], "cannot be read"),
        ([str(FILES[0]), "-o", "no/such/x.html"], "does not exist"),
    ],
)
def test_bad_use(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """One line."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", *words]) == 2
    assert message in capsys.readouterr().err


def test_rows_of_another_shape(tmp_path: Path) -> None:
    """What lacks fields is told, and the rest is shown."""

    def strip(data: Any) -> None:
        for found in data["devices"][0]["experiments"].values():
            for row in found["rows"]:
                row.pop("root", None)

    file, target = changed(FILES[2], tmp_path, strip), tmp_path / "page.html"
    assert cli.main(["report", str(file), "-o", str(target)]) == 0
    assert "These rows are not as this benchmark writes them." in target.read_text()


# --- figures --------------------------------------------------------------------------------------


def test_figures_of_a_device() -> None:
    """Marks lie where the rows say; nothing lies above the roof but by the tolerance."""
    (subject,) = shown(FILES[0])
    made = (figure for make in figures.OF_A_DEVICE for figure in make(subject))
    found = {figure.title: figure for figure in made}
    roof = found["Under the roof"]
    peak = subject.ceilings["instructions_per_second"]["float64"]["fma"]
    dd = next(s for s in roof.series if s.name == "dd")
    assert all(y < 1.1 * peak for _, y, _ in dd.points)
    (top,) = (s for s in roof.series if s.name == "roof of float64")
    assert max(y for _, y, _ in top.points) == peak and not top.marked
    sizes = next(s for s in found["GEMM by size"].series if s.name == "dd")
    rates = {
        r["shape"][0]: r["operations_per_second"]
        for r in figures.latest(subject)
        if (r["routine"], r["format"], r["accuracy"]) == ("gemm", "dd", "accurate")
    }
    assert {x: y for x, y, _ in sizes.points} == rates


def test_digits_and_speed() -> None:
    """A series each for a device and a peer: of each format the fastest product, labelled."""
    found = shown(FILES[0])
    beside = {"routine": "gemm", "format": "dd", "bits": 106, "shape": [512, 512, 512]}
    found[0].parts[0][0]["peers"] = [
        {"name": "mpmath", "results": [{**beside, "operations_per_second": 2e6}]}
    ]
    (picture,) = figures.cover(found, [("mine", "td", 3e9, "n = 7")])
    series = {one.name: one for one in picture.series}
    own = [one for one in series if one.startswith("portmp, NVIDIA H200, ")]
    assert len(series) == len(own) + 2
    for name in own:
        names = [label.partition(":")[0] for label in series[name].labels]
        assert [y for _, y, _ in series[name].points] == [formats.get(f).digits for f in names]
        assert {formats.get(form).word for form in names} == {"float64"} and len(names) > 2
        assert series[name].labels[-1] == f"{names[-1]}: {name}"
        best = max(
            row["operations_per_second"]
            for subject in found
            if name.endswith(subject.backend)
            for row in figures.latest(subject)
            if row["routine"] == "gemm" and row["format"] == names[-1]
            if row["accuracy"] == "accurate"
        )
        assert series[name].points[-1][0] == best
    (mark,) = series["mpmath"].points
    assert mark == (2e6, 34, "106 bits, n = 512: 34 digits, 2 M/s")
    assert series["mine"].points[0][:2] == (3e9, 50)


def test_ratios_of_papers() -> None:
    """Each paper's are beside those measured."""
    (subject,) = shown(FILES[2])
    found = papers.pairs(subject, "nbody")
    assert {pair.machine for pair in found} == {"MI100", "A100"}
    rsqrt = next(p for p in found if p.what.startswith("rsqrt") and p.machine == "A100")
    assert rsqrt.stated == pytest.approx(13.51 / 8.289, rel=1e-3) and rsqrt.here > 1
    (subject,) = shown(FILES[4])
    stated = {p.stated for p in papers.pairs(subject, "ts2021")}
    assert stated == {5.9, 9.5, 2.1, 1.4}
    assert papers.pairs(shown(FILES[6])[0], "slfp") == []
    assert any("N to 8192" in p.what for p in papers.pairs(subject, "ts2021"))


def test_ratios_over_the_library() -> None:
    """The paper's times are over CUBLAS's float64, so those beside them are over the library's."""
    file = max(RESULTS.glob("hpcs2011-h200-cuda-*.json"))
    (subject,) = [s for s in shown(file) if s.kind == "gpu"]
    found = {p.what: p for p in papers.pairs(subject, "hpcs2011")}
    product = found["gemm dd2011, paper: time over the library's float64"]
    (row,) = (
        r
        for r, _ in subject.rows("hpcs2011", "rates")
        if (r["routine"], r["format"], r["way"]) == ("gemm", "dd2011", "paper")
    )
    assert product.stated == 12 and product.here == row["over_float64"]["library"] > 50
    assert not any("over float64's" in what for what in found)


def test_the_fastest_product() -> None:
    """Of all methods in the tile, and by which; the direct one where it is called so."""
    found = subjects.read([RESULTS.parent / "devices" / "nvidia-h200-cuda.json"])[0]
    ordered = subjects.sorted_by_device(found)
    (tile,) = (both for both in page.tiles(ordered) if "product in dd" in both[1])
    assert tile == ("32.2 T/s", "operations, the fastest product in dd, by residues")
    best = page.best_product(ordered[0])
    assert best and best["routine"] == "gemm" and best["operations_per_second"] < 2e12
    assert "direct GEMM dd" in page.overview(ordered).heads


def test_a_figure_as_text() -> None:
    """Colours are variables, names and words are text, mathematics is none."""
    marks = [(1.0, 1e9, "one <b>"), (1024.0, 2e10, "two")]
    figure = Figure("A & B", "words <i>", [Series(EVIL, marks), Series("b", marks)], EVIL, "$x_2$")
    text = drawing.drawn(figure, "f1")
    assert "var(--s0)" in text and "var(--ink)" in text
    assert not re.search(r"#[0-9a-f]{6}", text) and "font-family" not in text
    assert '<title id="f1-t">A &amp; B</title>' in text and "words &lt;i&gt;" in text
    assert text.count("<title>one &lt;b&gt;</title>") == 2 and "$x_2$" in text
    assert "<script>" not in text and "frac" in text
    assert set(re.findall(r'id="([^"]+)"', text)) >= {"f1-series-0", "f1-series-1"}
    assert all(name.startswith("f1-") for name in re.findall(r'id="([^"]+)"', text))
    assert drawing.drawn(figure, "f1") == text


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        (1e9, 10, "1 G"),
        (5e-12, 10, "5 p"),
        (0.1, 10, "0.1"),
        (1000, 10, "1000"),
        (4096, 2, "4096"),
        (2**24, 2, "16 Mi"),
    ],
)
def test_ticks(value: float, base: int, text: str) -> None:
    """Prefixes, and powers of two as such."""
    assert drawing.power_text(value, base) == text


def test_sources() -> None:
    """Three dialects of each measured routine; what differs is marked."""
    found = {source.routine: source for source in sources.of(shown(FILES[0]))}
    assert {"gemm", "gemv", "dot", "axpy"} <= set(found)
    texts = found["gemm"].texts
    assert list(texts) == ["cuda", "rocm", "opencl"]
    marked = {line for line, differs in texts["opencl"] if differs}
    assert any("__kernel" in line for line in marked)
    assert not any("two_sum" in line and "static" not in line for line in marked)
    assert len({len(lines) for lines in texts.values()}) == 1, "one beside the other"
    assert sources.rendered("no such", "dd") is None


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of two colours."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours() -> None:
    """Letters have a contrast of 4.5 and marks of 3, light and dark."""
    style = page.data("style.css")
    blocks = re.findall(r":root[^{]*\{([^}]*)\}", style)[:3]
    found = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in blocks]
    assert found[1] == found[2] and set(found[0]) == set(found[1])
    for colours in found:
        for behind in ("paper", "panel", "diff"):
            assert contrast(colours["ink"], colours[behind]) > 7
        for behind in ("paper", "panel"):
            for name in ("soft", "link", "bad", "good"):
                assert contrast(colours[name], colours[behind]) > 4.5, (name, behind)
            for i in range(drawing.HUES):
                assert contrast(colours[f"s{i}"], colours[behind]) > 3, (i, behind)


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(made: Path) -> Iterator[Browser]:
    """A browser with the page."""
    tiers.check("chromium")
    path = program()
    assert path
    with Browser(path) as found:
        found.size(1440)
        found.open(made)
        yield found


COLUMN = (
    "Array.from(document.querySelectorAll('#overview tbody tr:not([hidden])'),"
    " r => r.cells[{}].textContent.trim())"
)


def test_nothing_is_wrong_in_the_console(browser: Browser, record_property: Any) -> None:
    """No error, no warning, no script of a file ran, the policy holds."""
    assert browser.run("document.title") == "portmp, measured"
    assert browser.run("typeof window.hacked") == "undefined"
    timing = browser.run("performance.getEntriesByType('navigation')[0].domComplete")
    record_property("remark opening the page", f"{timing:.0f} ms")
    assert browser.run("performance.getEntriesByType('resource').length") == 0
    assert browser.complaints == []


def test_sorting(browser: Browser) -> None:
    """By numbers with their prefixes, up and then down, by pointer and by key."""
    heads = browser.run(
        "Array.from(document.querySelectorAll('#overview th'), h => h.textContent.trim())"
    )
    at = heads.index("float64 fma")
    header = f"document.querySelectorAll('#overview th')[{at}]"

    def column() -> list[float]:
        texts: list[str] = browser.run(COLUMN.format(at))
        scale = {"T": 1e12, "G": 1e9, "M": 1e6}
        return [float(t.split()[0]) * scale[t.split()[1][0]] for t in texts if t != "-"]

    browser.run(f"{header}.querySelector('button').click()")
    up = column()
    assert browser.run(f"{header}.getAttribute('aria-sort')") == "ascending"
    assert len(up) >= 2 and up == sorted(up)
    assert browser.run(COLUMN.format(at))[-1] == "-"
    browser.run(f"{header}.querySelector('button').focus()")
    browser.press("Enter", 13)
    assert browser.run(f"{header}.getAttribute('aria-sort')") == "descending"
    assert column() == sorted(up, reverse=True)
    browser.run("document.querySelectorAll('#overview th button')[0].click()")
    assert browser.run(f"{header}.getAttribute('aria-sort')") == "none"
    names = browser.run(COLUMN.format(0))
    assert names == sorted(names, key=str.lower) or len(set(names)) < len(names)


SIZES = [
    ("1.2 ms", "300 us"),
    ("4.1 T/s", "980 G/s"),
    ("2^26", "1000000"),
    ("96 %", "7 %"),
    ("1024x1024x1024", "4096x8x4096"),
    ("1.3e-30", "2e-31"),
    ("12 pJ", "9e-13 J"),
]


@pytest.mark.parametrize(("larger", "smaller"), SIZES)
def test_order_of_quantities(larger: str, smaller: str, browser: Browser) -> None:
    """What is larger comes last, whatever its prefix."""
    # The page's own function cannot be reached: its text is run once more.
    script = page.data("script.js")
    function = script[script.index("const SCALES") : script.index("function sort(")]
    found = browser.run(f"(() => {{ {function} return compared({larger!r}, {smaller!r}); }})()")
    assert found > 0


def test_filtering(browser: Browser) -> None:
    """Rows that contain all words stay, and their number is told."""
    table = browser.run(
        "Array.from(document.querySelectorAll('input[data-filter]'), i => i.dataset.filter)"
        ".find(id => id.startsWith('d0') &&"
        " document.querySelector('#' + id + ' caption').textContent === '')"
    )
    count = f"document.querySelectorAll('#{table} tbody tr:not([hidden])').length"
    whole = browser.run(count)
    script = (
        f"(() => {{ const i = document.querySelector(\"input[data-filter='{table}']\");"
        " i.value = '{}'; i.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    browser.run(script.replace("{}", "gemm QD", 1))
    few = browser.run(count)
    seen = f"document.querySelectorAll('#{table} tbody tr:not([hidden])')"
    rows = browser.run(f"Array.from({seen}, r => r.textContent)")
    assert 0 < few < whole and all("gemm" in text and "qd" in text for text in rows)
    assert (
        browser.run(f"document.getElementById('{table}-said').textContent")
        == f"{few} of {whole} rows"
    )
    browser.run(script.replace("{}", "", 1))
    assert browser.run(count) == whole


def test_series_and_devices_hide(browser: Browser) -> None:
    """A name below a figure hides its series; a device's box all of it."""
    first = "document.querySelector('figure')"
    seen = f"getComputedStyle({first}.querySelector('.series-0')).display"
    assert browser.run(seen) != "none"
    browser.run(f"{first}.querySelector('.legend button').click()")
    assert browser.run(seen) == "none"
    assert (
        browser.run(f"{first}.querySelector('.legend button').getAttribute('aria-pressed')")
        == "false"
    )
    browser.run(f"{first}.querySelector('.legend button').click()")
    assert browser.run(seen) != "none"
    box = "document.querySelector(\"input[data-shows='d0']\")"
    parts = "Array.from(document.querySelectorAll(\"[data-device='d0']\"), p => p.hidden)"
    browser.run(f"{box}.click()")
    hidden = browser.run(parts)
    assert len(hidden) >= 3 and all(hidden)
    browser.run(f"{box}.click()")
    assert not any(browser.run(parts))


OVERFLOWING = """
(() => {
  const found = [];
  for (const part of document.body.querySelectorAll("*")) {
    if (part.closest(".wide") && !part.matches("caption span")) continue;
    if (part.closest("svg") || part.matches(".skip")) continue;
    const box = part.getBoundingClientRect();
    if (box.width && box.right > innerWidth + 1)
      found.push(part.tagName + " " + part.className + " " + box.right);
  }
  return [document.documentElement.scrollWidth, found.slice(0, 5)];
})()
"""


@pytest.mark.parametrize("width", [360, 1440])
def test_widths(width: int, browser: Browser) -> None:
    """No text is scrolled sideways: only tables, within themselves."""
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    browser.size(width)
    wide, found = browser.run(OVERFLOWING)
    letters = browser.run(
        "Math.min(...Array.from(document.querySelectorAll('figure svg'),"
        " s => 10.5 * s.getBoundingClientRect().width / s.viewBox.baseVal.width).filter(x => x))"
    )
    browser.size(1440)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = false; })")
    assert (wide, found) == (width, [])
    assert letters > 8  # units of the page that the letters of figures are high


CONTRAST = """
(() => {
  const part = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const p = c[i] / 255;
    return sum + weight * (p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4);
  }, 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = part(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  let worst = [99, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.getClientRects().length) continue;
    if (element.closest("i, .skip, option")) continue;
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    const pair = [light(part(colour)), light(behind(element))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.tagName + " " + element.className + " " + colour];
  }
  return worst;
})()
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme: str, browser: Browser) -> None:
    """Every text that is seen, in the colours that the system asks for and in those chosen."""
    browser.media(scheme=scheme)
    ratio, what = browser.run(CONTRAST)
    assert ratio >= 4.5, what
    behind = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (behind == "rgb(255, 255, 255)") == (scheme == "light")
    other = {"light": "dark", "dark": "light"}[scheme]
    browser.run(
        f"(() => {{ const t = document.getElementById('theme'); t.value = '{other}';"
        " t.dispatchEvent(new Event('change')); })()"
    )
    assert browser.run("getComputedStyle(document.body).backgroundColor") != behind
    ratio, what = browser.run(CONTRAST)
    browser.run(
        "(() => { const t = document.getElementById('theme'); t.value = '';"
        " t.dispatchEvent(new Event('change')); })()"
    )
    browser.media()
    assert ratio >= 4.5, what


def test_keys_and_words(browser: Browser, made: Path) -> None:
    """All that can be used is reached by keys and has a name; figures have words."""
    browser.open(made)
    browser.run("document.querySelector('details.chosen').open = true")
    browser.press("Tab", 9)
    assert browser.run("document.activeElement.className") == "skip"
    seen = set()
    for _ in range(60):
        browser.press("Tab", 9)
        seen.add(browser.run("document.activeElement.tagName"))
    assert {"A", "BUTTON", "INPUT", "SELECT"} <= seen
    nameless = browser.run(
        "Array.from(document.querySelectorAll('button, select, input, [role=region], svg'))"
        ".filter(e => !(e.textContent.trim() || e.getAttribute('aria-label')"
        " || (e.labels && e.labels.length))).length"
    )
    assert nameless == 0
    assert browser.run(
        "Array.from(document.querySelectorAll('svg')).every(s =>"
        " s.getAttribute('role') === 'img' && s.getAttribute('aria-labelledby').split(' ')"
        ".every(id => document.getElementById(id)))"
    )
    levels = browser.run(
        "Array.from(document.querySelectorAll('h1,h2,h3,h4'), h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1 and all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_print(browser: Browser) -> None:
    """Dark letters on white, no tools, all that was closed."""
    browser.media("print", "dark")
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.run("getComputedStyle(document.querySelector('.tools')).display") == "none"
    assert browser.run("Array.from(document.querySelectorAll('details')).every(d => d.open)")
    assert browser.run("getComputedStyle(document.querySelector('.wide')).overflowX") == "visible"
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = false; })")
    browser.media()
    assert math.isclose(browser.run("window.devicePixelRatio"), 1.0)
