"""Files: lossless, exact, whole or not at all, and one clear error for each kind of bad input."""

from __future__ import annotations

import fcntl
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.errors import FormatError, InputError, PortmpError, ShapeError
from portmp.files import arrays as files
from portmp.formats import inputs


def _read(path: Path, device: Device, form: str = "dd") -> mp.Array:
    return files.read(path, formats.get(form), device)


def _text(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".mtx", ".npz"])
@pytest.mark.parametrize("form", ["ds", "td", "qd", "d+s"])
def test_round_trip_keeps_every_value(
    tmp_path: Path, device: Device, suffix: str, form: str
) -> None:
    """Decimal strings and planes give the same exact values back, gaps and specials too."""
    f = formats.get(form)
    planes = [p.reshape(7, 5) for p in inputs.hostile(f, 35, "files")]
    matrix = mp.from_limbs(planes, form, device)
    files.write(tmp_path / f"m{suffix}", matrix)
    back = _read(tmp_path / f"m{suffix}", device, form)
    same = (back == matrix) | (np.isnan(back.to_limbs()[0]) & np.isnan(planes[0]))
    assert same.all()


def test_strings_of_any_length_are_exact(tmp_path: Path, device: Device) -> None:
    """A decimal string is rounded once, from its exact value."""
    digits = "0." + "123456789" * 12
    got = _read(_text(tmp_path, "a.csv", f"{digits}\n"), device, "qd").to_fractions()[0][0]
    error = abs(got - Fraction(digits)) / Fraction(digits)
    assert 0 < error < Fraction(1, 2**211)


def test_text_may_have_comments_headers_and_separators(tmp_path: Path, device: Device) -> None:
    """Commas, semicolons or blanks; # comments; a header line in .csv."""
    csv = _text(tmp_path, "a.csv", "# note\ny,x\n1.5, 2 # end\n\n-3e-2,inf\n")
    assert _read(csv, device).to_strings() == [["1.5", "2.0"], [_hundredths(-3), "inf"]]
    assert _read(_text(tmp_path, "a.txt", "1 2\t3\n4 5 6\n"), device).shape == (2, 3)
    assert _read(_text(tmp_path, "b.txt", "1;2\n"), device).shape == (1, 2)


@pytest.mark.parametrize(
    "heading", ["y,x", "_y1,x", '"y (m)","x [s]"', "p-value,höhe 2", "infimum,nano", "Y;X"]
)
def test_headings_are_words(tmp_path: Path, device: Device, heading: str) -> None:
    """Letters, digits, blanks, underscores, brackets and hyphens, in quotes or not."""
    row = '"1.5"; 2' if ";" in heading else '"1.5", 2'
    path = _text(tmp_path, "a.csv", f"{heading}\n{row}\n")
    assert _read(path, device).to_fractions() == [[Fraction(3, 2), 2]]


def test_a_first_line_of_specials_is_data(tmp_path: Path, device: Device) -> None:
    """nan and inf are numbers, not headings."""
    assert _read(_text(tmp_path, "a.csv", "nan,-inf\n1,2\n"), device).shape == (2, 2)


def _hundredths(n: int) -> str:
    return str(mp.array(f"{n}e-2").to_strings())


def test_matrix_market(tmp_path: Path, device: Device) -> None:
    """Coordinate and array layouts, symmetries, patterns; values are exact decimals."""
    head = "%%MatrixMarket matrix"
    sym = _text(
        tmp_path, "s.mtx", f"{head} coordinate real symmetric\n% c\n2 2 2\n1 1 0.1\n2 1 5\n"
    )
    assert _read(sym, device).to_fractions() == [[mp.array("0.1").to_fractions(), 5], [5, 0]]
    skew = _text(tmp_path, "k.mtx", f"{head} array real skew-symmetric\n3 3\n1\n2\n3\n")
    assert _read(skew, device).to_fractions() == [[0, -1, -2], [1, 0, -3], [2, 3, 0]]
    dense = _text(tmp_path, "d.mtx", f"{head} array integer general\n2 2\n1\n2\n3\n4\n")
    assert _read(dense, device).to_fractions() == [[1, 3], [2, 4]]
    pattern = _text(tmp_path, "p.mtx", f"{head} coordinate pattern general\n2 2 1\n2 2\n")
    assert _read(pattern, device).to_fractions() == [[0, 0], [0, 1]]


def test_numpy_files(tmp_path: Path, device: Device) -> None:
    """Floats, integers and strings in .npy; planes of another format in .npz."""
    np.save(tmp_path / "f.npy", np.array([[0.1, 2.0]]))
    assert _read(tmp_path / "f.npy", device).to_fractions() == [[Fraction(0.1), 2]]
    np.save(tmp_path / "s.npy", np.array([["0.1", "nan"]]))
    assert _read(tmp_path / "s.npy", device).to_fractions is not None
    files.write(tmp_path / "q.npz", mp.array([["0.1"]], "qd", device))
    assert _read(tmp_path / "q.npz", device).to_limbs()[1] == mp.array([["0.1"]]).to_limbs()[1]
    files.write(tmp_path / "o.npy", mp.array([[0.5]], "float64", device))
    assert np.load(tmp_path / "o.npy").tolist() == [[0.5]]


BAD_TEXT = {
    "ragged.csv": ("1,2\n3\n", r"line 2: 1 fields"),
    "word.csv": ("1,2\n3,four\n", r"line 2, column 2: 'four'"),
    "empty.csv": ("# nothing\n", r"no numbers"),
    "hole.csv": ("1,,2\n", r"column 2: ''"),
    "typo.csv": ("1.0x\n2.0\n3.0\n", r"line 1, column 1: '1.0x' is not a number"),
    "letters.csv": ("O.5,l.5\n1,2\n3,4\n", r"line 1, column 1: 'O.5' is not a number"),
    "exponent.csv": ("e-5,e-3\n1,2\n", r"line 1, column 1: 'e-5' is not a number"),
    "half.csv": ("# note\ny,1\n1,2\n", r"line 2, column 1: 'y' is not a number"),
    "special.csv": ("x,nan\n1,2\n", r"line 1, column 1: 'x'"),
    "second.csv": ("x,y\nu,v\n1,2\n", r"line 2, column 1: 'u'"),
    "blank heading.csv": ("x,\n1,2\n", r"line 1, column 1: 'x'"),
    "words.txt": ("x y\n1 2\n", r"line 1, column 1: 'x'"),
    "comma.csv": ('"1,5"\n"2,5"\n', r"line 1, column 1: quotes .* separator \(comma\)"),
    "semicolon.csv": ('"1,5";"2,5"\n', r"line 1, column 1: '1,5' is not a number"),
    "escaped.csv": ('1,"2""3"\n', r"line 1, column 2: quotes"),
    "open.csv": ('1,2\n3,4"\n', r"line 2, column 2: quotes"),
    "blanks.txt": ('"1 5" 2\n', r"line 1, column 1: quotes .* separator \(blank\)"),
    "complex.mtx": ("%%MatrixMarket matrix array complex general\n1 1\n1 0\n", "complex"),
    "head.mtx": ("1 1\n", r"line 1: no Matrix Market header"),
    "short.mtx": ("%%MatrixMarket matrix array real general\n2 2\n1\n", r"4 values expected, 1"),
    "twice.mtx": (
        "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 1\n1 1 2\n",
        "given twice",
    ),
    "outside.mtx": ("%%MatrixMarket matrix coordinate real general\n1 1 1\n2 1 1\n", r"\(2, 1\)"),
    "type.xlsx": ("1", r"unknown file type '.xlsx'"),
}


@pytest.mark.parametrize("name", BAD_TEXT)
def test_bad_text(tmp_path: Path, device: Device, name: str) -> None:
    """The error names the file, the place and what is wrong."""
    text, message = BAD_TEXT[name]
    with pytest.raises(InputError, match=message) as caught:
        _read(_text(tmp_path, name, text), device)
    assert name in str(caught.value)


def test_bad_binary(tmp_path: Path, device: Device) -> None:
    """Missing, truncated, pickled, foreign."""
    with pytest.raises(InputError, match="cannot be read: No such file"):
        _read(tmp_path / "missing.npz", device)
    with pytest.raises(InputError, match="cannot be read"):
        (tmp_path / "folder.csv").mkdir()
        _read(tmp_path / "folder.csv", device)
    files.write(tmp_path / "a.npz", mp.array([[1, 2]], "dd", device))
    whole = (tmp_path / "a.npz").read_bytes()
    for name, data in (
        ("cut.npz", whole[: len(whole) // 2]),
        ("junk.npz", b"junk"),
        ("junk.npy", b"junk"),
        ("none.npy", b""),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match=name):
            _read(tmp_path / name, device)
    (tmp_path / "latin.csv").write_bytes(b"\xff\xfe1,2\n")
    with pytest.raises(InputError, match="not a text file"):
        _read(tmp_path / "latin.csv", device)


BIG = "9007199254740993"


@pytest.mark.parametrize(
    "text",
    [
        BIG,
        f"-{BIG}",
        "0x20000000000001",
        "-0X20000000000001",
        f"{BIG}/1",
        "18014398509481986/2",
        "0x200000000000e1",
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".mtx"])
def test_integers_of_any_spelling_are_exact_or_refused(
    tmp_path: Path, device: Device, text: str, suffix: str
) -> None:
    """Decimal, hexadecimal, a ratio: refused where they would be rounded, exact where they fit."""
    head = "%%MatrixMarket matrix array real general\n1 1\n" if suffix == ".mtx" else ""
    path = _text(tmp_path, f"a{suffix}", f"{head}{text}\n")
    with pytest.raises(InputError, match=r"line [13].* not exact in float64; .*point"):
        _read(path, device, "float64")
    assert abs(_read(path, device, "dd").to_fractions()[0][0]) in (2**53 + 1, 2**53 + 0xE1)


@pytest.mark.parametrize(
    "text",
    [
        f"{BIG}.0",
        "9.007199254740993e15",
        "0x20000000000001.0",
        "0x20000000000001p0",
        f"{BIG}/7",
        "1E30",
        "1e999",
        "nan",
    ],
)
def test_numbers_with_a_point_or_an_exponent_are_rounded(
    tmp_path: Path, device: Device, text: str
) -> None:
    """Writing one asks for rounding; so does a ratio that is no integer."""
    assert _read(_text(tmp_path, "a.csv", text), device, "float64").shape == (1, 1)


class _Trap:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (pytest.fail, ("a pickle was loaded",))


def test_pickles_are_never_loaded(tmp_path: Path, device: Device) -> None:
    """An object array is refused without running what it holds."""
    np.save(tmp_path / "p.npy", np.array([_Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="never loaded"):
        _read(tmp_path / "p.npy", device)
    (tmp_path / "raw.npy").write_bytes(pickle.dumps([1.0]))
    with pytest.raises(InputError):
        _read(tmp_path / "raw.npy", device)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((1, 1), np.float16), "float16"),
        (np.ones((1, 1), np.complex128), "complex"),
        (np.array([[2**53 + 1]]), r"9007199254740993"),
    ],
)
def test_refused_values(tmp_path: Path, device: Device, values: np.ndarray, message: str) -> None:
    """By name: half precision, complex numbers, integers that would be rounded."""
    np.save(tmp_path / "v.npy", values)
    with pytest.raises(FormatError, match=message):
        _read(tmp_path / "v.npy", device, "float64")


def test_integers_beyond_float64_are_exact_where_they_fit(tmp_path: Path, device: Device) -> None:
    """2^53 + 1 is exact in dd."""
    np.save(tmp_path / "v.npy", np.array([[2**53 + 1]]))
    assert _read(tmp_path / "v.npy", device, "dd").to_fractions() == [[2**53 + 1]]


def test_bad_planes(tmp_path: Path, device: Device) -> None:
    """Missing planes, planes of the wrong dtype or shape, several arrays."""
    good = {"limb0": np.ones(2), "limb1": np.zeros(2)}
    cases = {
        "missing": ({"format": np.array("dd"), "limb0": np.ones(2)}, InputError),
        "dtype": (
            {**good, "limb1": np.zeros(2, np.float32), "format": np.array("dd")},
            FormatError,
        ),
        "shape": ({**good, "limb1": np.zeros(3), "format": np.array("dd")}, ShapeError),
        "several": ({"x": np.ones(2), "y": np.ones(2)}, InputError),
        "unknown": ({**good, "format": np.array("dq")}, FormatError),
    }
    for name, (content, error) in cases.items():
        path = tmp_path / f"{name}.npz"
        np.savez(path, **content)
        with pytest.raises(error, match=f"{name}.npz"):
            _read(path, device)


def test_nothing_is_left_of_a_failed_write(
    tmp_path: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old file stays, no temporary file remains."""
    target = tmp_path / "a.csv"
    files.write(target, mp.array([[1]], "dd", device))
    before = target.read_text()

    def full(self: Path, other: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left"):
        files.write(target, mp.array([[2]], "dd", device))
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
    assert target.read_text() == before


def test_what_killed_runs_left_is_named(
    tmp_path: Path, device: Device, capfd: pytest.CaptureFixture[str]
) -> None:
    """Once, by the next run that writes the same file; not what another process still writes."""
    names = [
        f".{name}.{'0123456789abcdef'[::step]}" for name in ("a.csv", "b.csv") for step in (1, -1)
    ]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    with (tmp_path / names[1]).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for _ in range(2):
            files.write(tmp_path / "a.csv", mp.array([[1]], "dd", device))
    told = capfd.readouterr().err
    assert told.count("left by a run") == 1
    assert f"{names[0]}: left by a run that ended while it wrote {tmp_path / 'a.csv'}" in told
    assert {file.name for file in tmp_path.iterdir()} == {"a.csv", *names}


def test_output_is_checked_before_the_work(tmp_path: Path) -> None:
    """Suffix, folder, name, links and planes."""
    (tmp_path / "file").write_text("")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "to no.csv").symlink_to("no/x.csv")
    for name, message in (
        ("x.doc", "unknown file type"),
        ("no/x.csv", "does not exist"),
        ("x.npy", "one plane"),
        ("n" * 252 + ".csv", "too long"),
        ("\0.csv", "null"),
        ("loop.csv", "links"),
        ("to no.csv", "no does not exist"),
        ("file/x.csv", "does not exist"),
    ):
        with pytest.raises(PortmpError, match=message):
            files.check_target(tmp_path / name, formats.get("dd"))
