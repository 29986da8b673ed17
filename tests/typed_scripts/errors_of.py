"""What is refused, by its class."""

import portmp as mp


def parsed(text: str) -> mp.Array | None:
    try:
        return mp.array(text, "dd")
    except mp.PortmpError as error:
        print(f"{text}: {error}")
        return None


print(parsed("0.1"), parsed("a tenth"))
