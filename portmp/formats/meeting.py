"""Which formats hold all numbers of others, and where two meet without loss."""

from collections.abc import Callable, Sequence

from portmp.formats.registry import COMPLEX, STANDARD, Format, get


def fits(source: Format, target: Format) -> bool:
    """Whether a format holds all values of another: its limbs are no shorter, one by one."""
    if source.components > target.components:
        return False
    if target.components > 1:
        return fits(source.component, target.component)
    if len(source.encodings) > len(target.encodings):
        return False
    pairs = zip(source.encodings, target.encodings, strict=False)
    return all(
        a == b or (a.bits <= b.bits and a.overflow <= b.overflow and a.smallest >= b.smallest)
        for a, b in pairs
    )


def meeting(forms: Sequence[Format], also: Callable[[Format], bool] = lambda form: True) -> str:
    """What to write where two arrays meet, of *forms* or of others: conversions without loss.

    *also*: whether a format holds what is of none.
    """
    if any(form.components > 1 for form in forms):
        return _of_complex(forms)
    order = sorted(map(get, STANDARD), key=lambda f: (f not in forms, f.compute is not f, f.bits))
    for form in order:
        if all(fits(one, form) for one in forms) and also(form):
            others = [one.name for one in forms if one is not form]
            which = f"the array of {others[0]}" if len(others) < len(forms) else "both"
            return (
                f"convert {which} with astype({form.name!r}), which adds no digits: made in "
                f"{form.name!r} from the start it has them all"
            )
    return "no format holds all numbers of both: astype rounds"


def _of_complex(forms: Sequence[Format]) -> str:
    """The same where one of them is complex."""
    known = sorted(map(get, COMPLEX), key=lambda f: f.bits)
    wide = next((f for f in known if all(fits(one, f) for one in forms)), None)
    if wide is None:
        return "no format holds all numbers of both: astype rounds"
    own = [one for one in forms if wide.name not in (one.name, f"c{one.name}")]
    given = " and ".join(f"the array of {one.name}" for one in own) or "both"
    made = wide if any(one.components > 1 for one in own or forms) else wide.component
    return (
        f"convert {given} with astype({wide.name!r}), which adds no digits: made in "
        f"{made.name!r} from the start it has them all"
    )
