"""Entries of the porting reference whose evidence was borne out, by the content of their files.

usage: python tests/evidence_checked.py      checks those that are new or changed, and records them

Compilers take minutes for all entries, and what they said of a text they say again. Evidence of an
entry that is as it was recorded is therefore in the slow tier; that of any other is in the fast
one, so that a record that nobody brings up to date hides nothing.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cache
from pathlib import Path

from porting import checks, entries

RECORD = Path(__file__).with_name("data") / "evidence.json"


@cache
def recorded() -> dict[str, str]:
    """Digests of files, by the names of entries."""
    found: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def digest(name: str) -> str:
    """16 hexadecimal digits of an entry's file."""
    return hashlib.sha256((entries.FOLDER / f"{name}.toml").read_bytes()).hexdigest()[:16]


def main() -> int:
    """The exit status is 1 where evidence fails, or cannot be looked at here."""
    found = {}
    for name, entry in entries.every().items():
        wrong = [
            f"{result.where}: {result.state}: {result.words}"
            for result in (checks.results(entry) if recorded().get(name) != digest(name) else [])
            if result.state != checks.HOLDS and result.where != "stated"
        ]
        if wrong:
            print(f"{name} is not recorded: {'; '.join(wrong)}")
        else:
            found[name] = digest(name)
    RECORD.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return len(found) < len(entries.every())


if __name__ == "__main__":
    sys.exit(main())
