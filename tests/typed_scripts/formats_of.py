"""Formats by what they have."""

from portmp import formats


def digits(names: list[str]) -> dict[str, int]:
    return {name: formats.get(name).digits for name in names}


print(digits(["dd", "td", "qd"]), formats.get("ts").limbs)
