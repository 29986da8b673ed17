"""Devices that check kernels: the gallery is clean, and mistakes put into it are all found."""

from __future__ import annotations

import re
from typing import Any

import pytest
from mutants import DEVICES, MUTANTS, NAMES, OCLGRIND, RUNS, line_of, module_of, text_of
from tiers import check, interpreted

from portmp import discovery
from portmp.errors import CheckError


def opened(name: str) -> str:
    """The device's name, where it is."""
    if name != OCLGRIND:
        return interpreted(name).name
    check("oclgrind")
    pytest.importorskip("pyopencl")
    return discovery.get(name).name


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", NAMES)
def test_the_gallery_is_clean(name: str, device: str) -> None:
    """Nothing is found in kernels that are right, and they give what is right."""
    RUNS[name](module_of(text_of(name)), opened(device))


def cases() -> list[Any]:
    """Every mutant on each device that finds it."""
    return [
        pytest.param(name, device, id=f"{name}, {device}")
        for name, mutant in MUTANTS.items()
        for device in mutant.on
    ]


@pytest.mark.parametrize(("name", "device"), cases())
def test_mutants_are_found(name: str, device: str) -> None:
    """With the kernel, the kind, the address, who did it, and the template's line."""
    mutant = MUTANTS[name]
    text = text_of(mutant.file, mutant.old, mutant.new)
    where = opened(device)
    with pytest.raises(CheckError) as caught:
        RUNS[mutant.file](module_of(text), where)
    told = str(caught.value)
    assert told.startswith(f"{device} finds mistakes in the kernel {mutant.kernel}_kernel, ")
    place = mutant.read if mutant.read and device != OCLGRIND else mutant.place
    line = f"template text line {line_of(text, place)} ("
    who = r"block \(\d+,\d+,\d+\)"
    found = [one for one in told.splitlines() if re.search(mutant.what, one)]
    assert any(line in one and re.search(who, one) for one in found), told
