"""Files of numbers and pictures: read whole and checked, written in one step."""

from portmp.files.arrays import (
    FORMAT_KEY,
    LIMB_KEY,
    PART_KEY,
    STANDARD_INPUT,
    Header,
    check_target,
    headers,
    members,
    read,
    stored_format,
    write,
    write_members,
)

__all__ = [
    "FORMAT_KEY",
    "LIMB_KEY",
    "PART_KEY",
    "STANDARD_INPUT",
    "Header",
    "check_target",
    "headers",
    "members",
    "read",
    "stored_format",
    "write",
    "write_members",
]
