"""One target of ``ci/fuzz --guided``: inputs that reach new lines of portmp are kept and mutated.

Atheris (libFuzzer) guides. The process ends with 0 after the given seconds, else with the failure.
It runs in the folder that a failing case is written to.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

import atheris

with atheris.instrument_imports(include=["portmp"], enable_loader_override=False):
    import fuzz_targets
    from fuzz_targets import MEMORY, MUTATIONS, SECONDS, TARGETS, run


def main() -> None:
    """Arguments: target, seconds, seed."""
    target, seconds, seed = TARGETS[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    corpus = Path(mkdtemp(prefix="corpus.", dir=fuzz_targets.folder()))
    for i, case in enumerate(target.seeds()):
        (corpus / str(i)).write_bytes(case)
    words = corpus / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words))
    read = 0

    def one(case: bytes) -> None:
        nonlocal read
        began = time.process_time()
        read += run(target, case)
        took = time.process_time() - began
        if took > SECONDS:
            raise TimeoutError(f"{took:.1f} s")

    def mutated(case: bytes, most: int, number: int) -> bytes:
        """libFuzzer's mutations by turns with those that know archives and numbers."""
        draw = random.Random(number)
        if draw.random() < 0.5:
            return bytes(atheris.Mutate(case, most))
        return draw.choice(MUTATIONS)(case, target, draw)[:most]

    one(b"")  # what a first case imports is no growth
    for case in target.seeds():
        one(case)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + MEMORY) >> 20
    options = [
        f"-max_total_time={seconds}",
        f"-seed={seed + 1}",
        f"-timeout={10 * SECONDS:.0f}",
        f"-rss_limit_mb={grown + CORPUS}",
        "-max_len=20000",
        f"-dict={words}",
        f"-artifact_prefix=fuzz-{target.name}-",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one, custom_mutator=mutated)
    atheris.Fuzz()


CORPUS = 256
"""MiB that the kept inputs may take."""


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    main()
