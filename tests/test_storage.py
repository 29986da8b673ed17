"""Storage formats: conversions against exact arithmetic, parts in memory, and what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow, on_one_device, slow

import portmp as mp
from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, InputError, ShapeError
from portmp.formats import Format, convert, encode, encodings, inputs, registry
from portmp.formats.encodings import Encoding
from portmp.routines.elementwise import reference
from portmp.routines.elementwise import schedule as elementwise_schedule
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.reduce import launch as reduce
from portmp.routines.reduce.schedule import ReduceSchedule

RECORDED = Path(__file__).parent / "data" / "storage.json"
ONE_LIMB = [name for name in formats.STORED if formats.get(name).limbs == 1]
SHORT = [name for name in formats.STORAGE if formats.get(name).itemsize <= 3]
"""Formats of which every stored number can be looked at."""


def every(form: Format) -> list[np.ndarray[Any, Any]]:
    """The parts of all numbers of a short format."""
    bits = np.arange(1 << 8 * form.itemsize, dtype=np.uint32)
    (encoding,) = form.encodings
    return [
        (bits >> np.uint32(shift)).astype(part)
        for part, shift in zip(encoding.parts, encoding.shifts, strict=True)
    ]


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether words have the same bits, NaN of any kind being one."""
    return bool((convert.canonical_nan_bits(a) == convert.canonical_nan_bits(b)).all())


@pytest.mark.parametrize("name", SHORT)
def test_every_number_survives(name: str) -> None:
    """Decoded and encoded again: the same parts, but for the bits of NaN, which stays one."""
    form = formats.get(name)
    (encoding,) = form.encodings
    parts = every(form)
    words = encode.decoded(parts, encoding)
    for rounding in formats.ROUNDINGS:
        again = encode.encoded(words, encoding, rounding)
        number = ~np.isnan(words)
        assert all((a[number] == b[number]).all() for a, b in zip(again, parts, strict=True))
        assert np.isnan(encode.decoded(again, encoding)[~number]).all()


@pytest.mark.parametrize("name", formats.STORED)
def test_single_numbers_have_no_axis(name: str) -> None:
    """A number in a storage format is an array of shape () as in others."""
    x = mp.array("0.5", name)
    assert x.shape == () and float(x) == 0.5 and all(p.shape == () for p in x.to_limbs())


def test_binary16_is_numpys() -> None:
    """All 2^16 numbers decoded, and a million floats encoded, as NumPy does it."""
    (encoding,) = formats.get("float16").encodings
    (parts,) = every(formats.get("float16"))
    assert same(encode.decoded([parts], encoding), parts.view(np.float16).astype(np.float32))
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, 2**20, np.uint32)
    near = rng.integers(0x33000000, 0x48000000, 2**20, np.uint32) & np.uint32(0xFFFFF800)
    words = np.concatenate([bits, near, near | np.uint32(0x1000)]).view(np.float32)
    with np.errstate(all="ignore"):
        expected = words.astype(np.float16).astype(np.float32)
    assert same(encode.decoded(encode.encoded(words, encoding), encoding), expected)


@pytest.mark.parametrize(
    "name",
    mostly_slow(
        SHORT,
        [name for name in SHORT if formats.get(name).itemsize == 2],
        "all numbers of 24 bits; a few are in the test below",
    ),
)
def test_middles_between_all_neighbours(name: str) -> None:
    """Every midpoint of two numbers goes to the even one, its neighbours to the nearer one."""
    form = formats.get(name)
    (encoding,) = form.encodings
    words = encode.decoded(every(form), encoding)
    finite = np.unique(words[np.isfinite(words) & (words > 0)]).astype(np.float64)
    lower, upper = finite[:-1], finite[1:]
    middle = lower / 2 + upper / 2
    low_parts = encode.encoded(lower.astype(encoding.word), encoding)
    even = np.where(low_parts[-1] & 1, upper, lower)
    zero = np.zeros(middle.shape)
    for value, rest, expected in (
        (middle, zero, even),
        (middle, zero + 1, upper),
        (middle, zero - 1, lower),
        (-middle, zero, -even),
        (-middle, zero + 1, -lower),
    ):
        assert same(
            encode.rounded(value, rest, encoding, "nearest"), expected.astype(encoding.word)
        )
    for value, rest, expected in (
        (middle, zero, lower),
        (upper, zero - 1, lower),
        (upper, zero, upper),
        (-upper, zero + 1, -lower),
        (upper, zero + 1, upper),
    ):
        got = encode.rounded(value, rest, encoding, "toward_zero")
        assert same(got, expected.astype(encoding.word))


@pytest.mark.parametrize("name", ONE_LIMB)
def test_conversions_are_exact_values_rounded_once(name: str) -> None:
    """Floats, fractions, double-doubles: what integer arithmetic gives for the exact value."""
    form = formats.get(name)
    hostile = inputs.hostile(formats.get("float64"), 3000, name)[0]
    pairs = inputs.hostile(formats.get("dd"), 500, name)
    with np.errstate(all="ignore"):
        ties = encode.stored(form, [hostile.astype(form.word)])[0].astype(np.float64)
        near = np.concatenate([ties * (1 + k * 2.0**-form.bits) for k in (-1, 0, 1)])
    for values in (hostile, near):
        got = convert.to_limbs(values, form)[0]
        expected = [convert.round_to_limbs(v, form)[0] for v in values.tolist()]
        assert same(got, np.array(expected, form.word))
    got = convert.change_format(pairs, formats.get("dd"), form)[0]
    rows = zip(*(p.tolist() for p in pairs), strict=True)
    expected = [
        convert.round_to_limbs(
            convert.to_fraction(row) if row[0] and math.isfinite(row[0]) else row[0], form
        )[0]
        for row in rows
    ]
    assert same(got, np.array(expected, form.word))


@pytest.mark.parametrize("name", ONE_LIMB)
def test_rounding_of_exact_values(name: str) -> None:
    """The nearest of the format's numbers, or the next one toward zero, by definition."""
    form = formats.get(name)
    (encoding,) = form.encodings
    rng = np.random.default_rng(2)
    for _ in range(300):
        exponent = int(rng.integers(encoding.smallest - 3, encoding.overflow))
        value = Fraction(int(rng.integers(1, 2**62))) * Fraction(2) ** (exponent - 61)
        found = convert.round_to_limbs(value, form)[0]
        beyond = Fraction(2) ** encoding.overflow * (1 - Fraction(1, 2 ** (encoding.bits + 1)))
        if form.rounding == "nearest" and value >= beyond:
            assert found == math.inf  # the largest number and half a step, or more
            continue
        limb = Fraction(found)
        step = Fraction(2) ** max(_log2(value) - encoding.bits + 1, encoding.smallest)
        assert (limb / step).denominator == 1
        if form.rounding == "nearest":
            assert 2 * abs(limb - value) <= step
        else:
            assert 0 <= value - limb < step


def _log2(value: Fraction) -> int:
    found = value.numerator.bit_length() - value.denominator.bit_length()
    return found if Fraction(2) ** found <= value else found - 1


@pytest.mark.parametrize("vector", json.loads(RECORDED.read_text()), ids=lambda v: str(v["id"]))
def test_recorded_conversions(vector: dict[str, Any]) -> None:
    """The hard cases: ties, carries into the exponent, subnormals, payloads of NaN."""
    word, size = vector["fmt"][4:].split("in")
    form = formats.get(f"slfp{word}in{size}")
    (encoding,) = form.encodings
    dtype = np.uint64 if word == "64" else np.uint32
    x = np.array([int(vector["bits"], 16)], dtype).view(form.word)
    for rounding, key in (("nearest", "rne"), ("toward_zero", "rz")):
        parts = encode.encoded(x, encoding, rounding)
        got = 0
        for part in parts:
            got = got << 8 * part.itemsize | int(part[0])
        expected = int(vector[key], 16)
        assert got == expected, (vector, hex(got))


@slow(
    "all formats on one device, parts of every size on each",
    unless=on_one_device({"slfp64in56b", "slfp32in24b", "float16", "tsin80b"}),
)
@pytest.mark.parametrize("name", formats.STORED)
def test_devices_round_as_the_host(name: str, every_device: Device) -> None:
    """Products of hostile numbers, which need all bits: the parts in memory are the host's."""
    form = formats.get(name)
    x, y = (inputs.hostile(form, 700, f"{name}{i}") for i in range(2))
    a, b = (mp.from_limbs(v, form, every_device) for v in (x, y))
    got = (a * b).to_limbs()
    expected = reference.elementwise(form, "mul", x, y)
    assert all(same(g, e) for g, e in zip(got, expected, strict=True))


@slow(
    "each format by one of the two kernels, every other format",
    unless=lambda p: (
        ONE_LIMB.index(p["name"]) % 3 == 0
        and (ONE_LIMB.index(p["name"]) % 2 == 0) == (p["schedule"] is None)
    ),
)
@pytest.mark.parametrize(
    "schedule", [None, FlatSchedule(64, 2, elements_per_access=4)], ids=["", "gpu"]
)
@pytest.mark.parametrize("name", ONE_LIMB)
def test_devices_convert_as_the_host(
    name: str, schedule: FlatSchedule | None, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between storage formats and their parents, signaling NaN too; views of all kinds."""
    if schedule:
        monkeypatch.setattr(elementwise_schedule, "flat", lambda *_: schedule)
    form = formats.get(name)
    parent = form.arithmetic
    mates = [f for f in map(formats.get, ONE_LIMB) if f.arithmetic is parent and f is not form]
    numbers = inputs.hostile(parent, 700, name)[0]
    bits = numbers.view(f"u{numbers.itemsize}")
    infinity = int(np.array(np.inf, numbers.dtype).view(bits.dtype))
    # beside infinity the largest number, and a NaN that signals and is cut to infinity
    bits[:4] = [infinity, infinity + 1, infinity - 1, 1]
    # and carries: out of the low word into the high one, and out of the whole significand
    one = int(np.array(1, numbers.dtype).view(bits.dtype))
    bits[4:6] = [one + 2 ** (4 * numbers.itemsize) - 1, one - 1]
    plain = mp.from_limbs([numbers], parent, device)
    short, cut = plain.astype(form), formats.rounded_as(form, "toward_zero")
    for source, target in ((plain, form), (plain, cut), (short, parent), (short, mates[0])):
        for view in (source, source[4:], source[3:], source[::-3]):
            expected = convert.change_format(view.to_limbs(), source.format, target)
            assert same(view.astype(target).to_limbs()[0], expected[0]), (source.format, target)


@pytest.fixture(
    params=[
        Encoding("float8_e5m2", "float32", ("uint8",), 5),
        Encoding("float8_e4m3", "float32", ("uint8",), 4),
        Encoding("float24_e6m17", "float32", ("uint16", "uint8"), 6),
    ],
    ids=lambda encoding: encoding.name,
)
def another(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Format:
    """A storage format of docs/extending.md's two lines, for one test."""
    name = request.param.name
    monkeypatch.setitem(encodings._ENCODINGS, name, request.param)
    for form in registry._stored(name, "float32", (name,), "a test's"):
        monkeypatch.setitem(registry._REGISTRY, form.name, form)
    return formats.get(name)


def test_another_short_float_is_two_lines(another: Format) -> None:
    """Each number is what its bits say, there and back, and values are rounded once."""
    (encoding,) = another.encodings
    bits = np.arange(1 << encoding.size)
    fraction = bits & (1 << encoding.bits - 1) - 1
    field = bits >> encoding.bits - 1 & (1 << encoding.exponent) - 1
    units = fraction + np.where(field, 1 << encoding.bits - 1, 0)
    exact = np.ldexp(units.astype(float), np.maximum(field, 1) - 1 + encoding.smallest)
    exact[field == (1 << encoding.exponent) - 1] = np.inf
    exact[np.isinf(exact) & (fraction != 0)] = np.nan
    exact = np.where(bits >> encoding.size - 1, -exact, exact).astype("float32")
    assert same(encode.decoded(every(another), encoding), exact)
    test_every_number_survives(another.name)
    for name in (another.name, f"{another.name}_rz"):
        test_rounding_of_exact_values(name)
        test_conversions_are_exact_values_rounded_once(name)


@slow("the same code with other numbers", unless=lambda p: p["another"].exponent == 5)
def test_another_short_float_on_devices(
    another: Format, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products and conversions have the host's bits, one by one, in vectors and packed."""
    for name in (another.name, f"{another.name}_rz"):
        test_devices_round_as_the_host(name, device)
        for schedule in (None, FlatSchedule(64, 2, elements_per_access=4)):
            with monkeypatch.context() as patch:
                test_devices_convert_as_the_host(name, schedule, device, patch)


@slow("the same code with other numbers", unless=lambda p: p["another"].exponent == 6)
def test_another_short_float_in_routines(another: Format, device: Device) -> None:
    """AXPY, DOT, GEMV and GEMM have the host reference's bits."""
    a, b = (inputs.hostile(another, 35 * 67, f"{another.name}{i}")[0] for i in range(2))
    small = another.compute.dtype(0).type(0.125)
    results = []
    for on in (device, discovery.get("host")):
        left = mp.from_limbs([a.reshape(35, 67)], another, on)
        right = mp.from_limbs([b.reshape(67, 35)], another, on)
        row = left[:, :35]
        results.append(
            [
                mp.axpy(float(small), left, mp.from_limbs([b.reshape(35, 67)], another, on)),
                mp.dot(left[0], left[1]),
                mp.gemv(left, left[3]),
                mp.gemm(left, right),
                mp.gemm(left, right, alpha=0.5, beta=2, c=row),
            ]
        )
    for got, expected in zip(*results, strict=True):
        assert same(got.to_limbs()[0], expected.to_limbs()[0])


@pytest.mark.parametrize(
    "given",
    [
        ("float64", ("uint16",), 5),  # shorter than float64's exponent
        ("float32", ("uint32",), 8),  # nothing cut off
        ("float32", ("uint32",), 7),  # more bits of a significand than float32's
        ("float32", ("uint8",), 8),  # no bit of a significand
        ("float32", ("uint8",), 7),  # none that tells NaN from infinity
        ("float32", ("uint16",), 9),  # longer than float32's
        ("float32", ("uint8",), 0),
        ("float64", ("float32",), 11),  # a float's own is 8
    ],
    ids=str,
)
def test_exponents_without_code_are_refused(given: tuple[str, tuple[str, ...], int]) -> None:
    """What host and devices could not round is no encoding."""
    with pytest.raises(FormatError, match=f"{given[2]} bits of exponent"):
        Encoding("other", *given)


def test_cutting_keeps_nan(device: Device) -> None:
    """Also one that signals by its last bit, as a scalar of an operator that only chooses."""
    signaling = np.array([0x7FF0 << 48 | 1], "u8").view(np.float64)[0]
    form = formats.rounded_as(formats.get("slfp64in16b"), "toward_zero")
    x = mp.from_limbs([np.arange(100.0) % 8], form, device)
    for got in (mp.maximum(x, signaling), x * signaling, mp.axpy(signaling, x, x)):
        assert np.isnan(got.to_limbs()[0]).all()


def test_dense_and_strided_views_agree(device: Device) -> None:
    """Vectors of parts, tails and odd starts give what single elements give."""
    for name in formats.STORAGE:
        form = formats.get(name)
        host = [inputs.ordinary(form, (1003,), f"{i}") for i in range(2)]
        x, y = (mp.from_limbs(v, form, device) for v in host)
        whole = mp.axpy("0.7", x, y).to_limbs()
        for first, last in ((0, 1003), (1, 1003), (8, 999), (3, 4)):
            part = mp.axpy("0.7", x[first:last], y[first:last]).to_limbs()
            assert all((p == w[first:last]).all() for p, w in zip(part, whole, strict=True))
        back = mp.axpy("0.7", x[::-1], y[::-1]).to_limbs()
        assert all((p == w[::-1]).all() for p, w in zip(back, whole, strict=True))


def test_parts_and_bytes() -> None:
    """Planes in memory, one value behind another, and back."""
    form = formats.get("slfp64in56b")
    x = mp.array([1.5, -2.25, math.pi], form)
    parts = x.to_parts()
    assert [p.dtype.name for p in parts] == ["uint32", "uint16", "uint8"]
    image = np.array([1.5, -2.25, math.pi]).view(np.uint64)
    assert (parts[0] == image >> np.uint64(32)).all()
    assert mp.from_parts(parts, form).to_limbs()[0].tolist() == x.to_limbs()[0].tolist()
    content = encode.interleaved(form, parts)
    assert content.shape == (3, 7)
    again = encode.planar(form, content)
    assert all((a == b).all() for a, b in zip(again, parts, strict=True))
    with pytest.raises(ShapeError, match="last axis of 7"):
        encode.planar(form, content[:, :6])
    with pytest.raises(FormatError, match="uint32, uint16, uint8"):
        mp.from_parts(parts[:2], form)
    with pytest.raises(ShapeError, match="one shape"):
        mp.from_parts([parts[0], parts[1], parts[2][:2]], form)


def test_roundings_are_formats() -> None:
    """``rounding`` names the format that rounds so; results round so, too."""
    a = mp.array([0.1, 1.0], "slfp64in48b", rounding="toward_zero")
    assert a.format.name == "slfp64in48b_rz" and a.format.rounding == "toward_zero"
    assert a.astype("slfp64in48b", rounding="nearest").format.name == "slfp64in48b"
    assert mp.array(0.1, "bf16").format.name == "slfp32in16b"
    with pytest.raises(ArgumentError, match="toward_zero"):
        mp.array(1, "slfp64in48b", rounding="down")
    with pytest.raises(FormatError, match="has only nearest"):
        mp.array(1, "dd", rounding="toward_zero")


def test_what_storage_formats_do_not_do() -> None:
    """Routines that compute for long name the format that computes."""
    a = mp.array([[2, 1], [1, 3]], "slfp64in48b")
    mass, position = mp.array([1, 1], "float16"), mp.zeros((2, 3), "float16")
    for work in (
        lambda: mp.linalg.solve(a, a),
        lambda: mp.gemm(a, a, method="ozaki1"),
        lambda: mp.nbody.acceleration(position, mass, eps=1),
        lambda: a.limbs,
    ):
        with pytest.raises(FormatError, match=r"storage format; convert with astype\('float"):
            work()
    with pytest.raises(
        FormatError, match=r"convert the array of slfp64in48b with astype\('float64'\)"
    ):
        _ = a + a.astype("float64")
    with pytest.raises(FormatError, match="not exact in slfp64in16b"):
        mp.array(33, "slfp64in16b")
    with pytest.raises(FormatError, match="does not hold the exact sum"):
        mp.from_limbs([np.array([0.1])], "slfp64in48b")


def test_short_matrices_multiply_vectors_of_their_parent(device: Device) -> None:
    """gemv reads the matrix short and computes and stores as the vectors are."""
    exact = np.arange(12.0).reshape(3, 4) / 8
    a = mp.array(exact, "slfp64in24b", device)
    x = mp.array([0.1, 0.2, 0.3, 0.4], "float64", device)
    y = mp.gemv(a, x)
    assert y.format.name == "float64"
    assert y.to_limbs()[0].tolist() == mp.gemv(a.astype("float64"), x).to_limbs()[0].tolist()
    with pytest.raises(FormatError, match=r"convert both with astype\('float64'\)"):
        mp.gemv(a, x.astype("float32"))


@pytest.mark.parametrize(
    "name",
    mostly_slow(["slfp64in56b", "slfp32in24b_rz"], ("slfp32in24b_rz",), "half a minute of kernels"),
)
def test_neighbours_are_read_at_once_or_not(device: Device, name: str) -> None:
    """Rows, steps and shared vectors of teams; starts and lengths that are no whole words."""
    form = formats.get(name)
    host = inputs.ordinary(form, (5 * 8301,), "matrix")
    a = mp.from_limbs([p.reshape(5, 8301) for p in host], form, device)
    x = mp.from_limbs(inputs.ordinary(form.arithmetic, (8301,), "x"), form.arithmetic, device)
    for rows, first, last in ((5, 0, 8300), (5, 4, 200), (1, 8, 8301), (3, 1, 8300)):
        left, right = a[:rows, first:last].copy(), x[first:last]
        usual = mp.gemv(left, right)
        schedule = ReduceSchedule(3, 2, 2, staged=6, elements_per_access=4)
        at_once = reduce.fitted(schedule, left.planes.place, right.planes.place) is schedule
        assert at_once == (first % 4 == 0 and (rows == 1 or (last - first) % 4 == 0))
        got = mp.gemv(left, right, schedule=schedule)
        assert all(map(same, got.to_limbs(), usual.to_limbs())), first
        total = reduce.over_rows("sum", left.planes).read_dense()
        sums = reduce.over_rows("sum", left.planes, ReduceSchedule(8, 1, 4, elements_per_access=4))
        assert all(map(same, sums.read_dense(), total)), first


def test_files_hold_parts(tmp_path: Path) -> None:
    """.npz files are as short as memory, and damaged ones are refused."""
    from portmp.files import arrays as files

    for name in ("slfp64in40b", "float16", "tsin80b", "qdin192b_rz"):
        x = mp.array(["0.1", "-7.25e-3", "1e30"], name)
        files.write(tmp_path / "x.npz", x)
        y = files.read(tmp_path / "x.npz", x.format, x.device)
        assert y.format is x.format
        assert all((a == b).all() for a, b in zip(x.to_parts(), y.to_parts(), strict=True))
    members = dict(np.load(tmp_path / "x.npz"))
    members["part1"] = members["part1"].astype(np.float32)
    np.savez(tmp_path / "bad.npz", **members)
    with pytest.raises(InputError, match="part1 float64"):
        files.read(tmp_path / "bad.npz", x.format, x.device)


@pytest.mark.parametrize("name", formats.STORED)
def test_text_comes_back(name: str) -> None:
    """Decimal text of every number that random bits are, and its format's digits."""
    form = formats.get(name)
    x = inputs.ordinary(form, (40,), "text")
    a = mp.from_limbs(x, form)
    again = mp.array(a.to_strings("round-trip"), form)
    if form.rounding == "nearest":
        assert all((p == q).all() for p, q in zip(a.to_parts(), again.to_parts(), strict=True))
    shown = a.to_strings()
    assert max(len(s.lstrip("-0.").replace(".", "")) for s in shown) <= form.digits + 6
