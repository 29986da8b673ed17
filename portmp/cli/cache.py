"""``portmp cache``: compiled kernels on disk."""

import argparse
import json

from portmp import paths
from portmp.cli import flag
from portmp.errors import InputError
from portmp.runtime import program


def options(parser: argparse.ArgumentParser) -> None:
    """``--clear``."""
    flag(parser, "--clear", "remove the files")


def run(args: argparse.Namespace) -> int:
    """Show the cache, or clear it."""
    files = list(program.cached_files())
    size = sum(file.stat().st_size for file in files if file.exists())
    if args.clear:
        for file in files:
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise InputError(f"{file}: cannot be removed: {error.strerror}") from None
    folder = paths.cache_folder()
    facts = {
        "folder": str(folder) if folder else None,
        "files": len(files),
        "bytes": size,
        "cleared": bool(args.clear),
    }
    if args.json:
        print(json.dumps(facts, indent=1))
    elif folder is None:
        print("no cache: PORTMP_CACHE_DIR is empty or its folder cannot be written")
    else:
        what = "removed" if args.clear else "kept"
        print(f"{folder}: {len(files)} files {what}, {size} bytes")
    return 0
