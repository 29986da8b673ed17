"""Importing portmp touches no GPU package and nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = ("pyopencl", "cuda", "hip", "mako", "matplotlib", "mpmath", "gmpy2", "importlib.metadata")


def test_import_is_light() -> None:
    """Only NumPy comes along."""
    code = "import json, sys, portmp; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )  # fmt: skip
    loaded = set(json.loads(done.stdout))
    assert "numpy" in loaded
    assert not loaded & set(HEAVY)


def test_naming_a_format_needs_no_device() -> None:
    """Formats, networks and rendering work without any GPU package."""
    code = (
        "import json, sys\n"
        "from portmp import catalogue, spec\n"
        "text = spec.module(catalogue.kernels('dd').values(), 'cuda').text\n"
        "print(json.dumps([len(text), sorted(sys.modules)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )  # fmt: skip
    size, loaded = json.loads(done.stdout)
    assert size > 10000
    assert not set(loaded) & {"pyopencl", "cuda", "hip"}
