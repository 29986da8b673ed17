"""Traps of warps: masks, ballots, shuffles, and the number 32."""

import math
import re
from collections.abc import Iterator

from portmp.porting.sources import (
    Node,
    arguments,
    called,
    line_of,
    number,
    of_type,
    parsed,
    sides,
    text_of,
    walk,
    without_comments,
)
from portmp.porting.tables import named
from portmp.porting.traps.base import (
    BALLOTS,
    BARRIERS,
    CERTAIN,
    HIP,
    LIKELY,
    MATCHES,
    OPENCL,
    POSSIBLE,
    SHUFFLES,
    SHUFFLES_SYNC,
    VOTES_SYNC,
    Facts,
    Inside,
    Trap,
    array_of,
    at,
    calls_in,
    enclosing,
    is_ballot,
    of_functions,
    short,
    sizes_of,
)

_BITS = frozenset(("__popc", "__ffs", "__clz", "__brev"))
_FULL = 2**32 - 1
_WARP = 32


def masks(inside: Inside) -> Iterator[Trap]:
    """``_sync`` with a mask of 32 bits."""
    names = SHUFFLES_SYNC | VOTES_SYNC | MATCHES | {"__ballot_sync"}
    for call, name, given in inside.of_calls(names):
        mask = inside.number(given[0]) if given else None
        full = mask is not None and mask & _FULL == _FULL
        what = f"the mask {short(given[0])}" if given else "the mask"
        wanted = f"64 bits: {what} is half a wave" if full else f"64 bits for {what}"
        words = f"{name} is not there before ROCm 6.2, which wants {wanted}"
        yield Trap("warps/mask-32-bits", *at(call), "compile", CERTAIN, words)


def in_macros(facts: Facts) -> Iterator[Trap]:
    """Steps of a warp in macros' texts, which have no tree of their own."""
    for node in of_type(facts.source.nodes, "preproc_function_def"):
        text = text_of(node.child_by_field_name("value"))
        steps = [one for one in _STEPPED.finditer(text) if int(one[2]) <= _WARP]
        if len(steps) > 1 and not re.search(r"__sync(warp|threads)", text[steps[0].start() :]):
            line = line_of(node) + text_of(node).count("\n", 0, text_of(node).index(steps[0][0]))
            yield from _in_step((line, short(node)), "volatile" in text)


_STEPPED = re.compile(r"\b(\w+)\[\w+\]\s*[^;]*?=[^;]*\b\1\[\w+ *\+ *(\d+)\]")


def votes(inside: Inside) -> Iterator[Trap]:
    """Ballots in 32 bits, and bits counted in them."""
    for name, values in inside.values.items():
        kind = inside.types.get(name, "")
        if bool(re.search(r"long|64|auto|bool|size_t", kind)):
            continue
        for value in values:
            if value.type == "call_expression" and called(value) in BALLOTS:
                words = f"{kind or 'an int'} {name} holds the votes of 32 lanes; a wave has 64"
                yield Trap("warps/ballot-64-bits", *at(value), "results", CERTAIN, words.strip())
    for call, name, given in inside.of_calls(_BITS):
        if given and any(is_ballot(n, inside.ballots) for n in walk(given[0])):
            words = f"{name} looks at 32 of the 64 bits that a ballot or a match has"
            yield Trap("warps/popc-of-ballot", *at(call), "results", CERTAIN, words)


def shuffles(inside: Inside) -> Iterator[Trap]:
    """Shuffles that name no width, and those in a branch that lanes leave."""
    for call, name, given in inside.of_calls(SHUFFLES | SHUFFLES_SYNC):
        place = 1 if name.endswith("_sync") else 0
        if len(given) < place + 2:
            continue
        if len(given) == place + 2:
            certainty, words = _without_width(name.removesuffix("_sync"), inside)
            if certainty:
                yield Trap("warps/shuffle-width", *at(call), "results", certainty, words)
        if condition := _some_lanes(inside, call):
            words = f"lanes for which {short(condition)} is false give 0 on AMD"
            yield Trap("warps/inactive-lane", *at(call), "results", POSSIBLE, words)


def _without_width(name: str, inside: Inside) -> tuple[str, str]:
    """How certain it is that a shuffle without a width goes wrong on waves of 64 lanes."""
    if re.search(r"\bwarpSize\b", inside.text) and not _thirty_two(inside):
        return "", ""  # it follows the hardware
    if name == "__shfl":
        return LIKELY, "lanes 32 to 63 read from the other half of the wave: no width is named"
    if name == "__shfl_up":
        return LIKELY, "lane 32 reads lane 31, another warp's: no width is named"
    return POSSIBLE, "the shuffle spans 64 lanes: no width is named"


def _some_lanes(inside: Inside, call: Node) -> Node | None:
    """The condition on a lane of the branch that a call stands in."""
    branches = enclosing(call, ("if_statement",), inside.node)
    conditions = (branch.child_by_field_name("condition") for branch in branches)
    compared = re.compile(r"\blane\w*\s*(<|>|==|>=|<=)")
    return next((one for one in conditions if compared.search(text_of(one))), None)


def _thirty_two(inside: Inside) -> list[Node]:
    """Expressions that number lanes or warps by 32."""
    found = []
    for node in of_type(inside.nodes, "binary_expression"):
        left, sign, right = sides(node)
        value = inside.number(right) if sign in _BY_SIGN else None
        if value is not None and value == _BY_SIGN[sign] and _counts_threads(inside, left):
            found.append(node)
    return found


_BY_SIGN = {"&": _WARP - 1, ">>": 5, "/": _WARP, "%": _WARP}


def _counts_threads(inside: Inside, node: Node | None) -> bool:
    """Whether an expression is a thread's number, or how many there are."""
    text = _IN_GRID.sub("", text_of(node))
    if _LANE.search(text):
        return True
    plain = re.fullmatch(r"\(*(threadIdx\.x|blockDim\.x|\w+)\)*", text)
    if plain is None:
        return bool(re.search(r"\bthreadIdx\b|\bblockDim\b|thread_rank", text)) and "*" not in text
    if plain[1] in ("threadIdx.x", "blockDim.x"):
        return True
    return any(_OF_THREADS.search(text_of(value)) for value in inside.values.get(plain[1], []))


_OF_THREADS = re.compile(r"\bthreadIdx\b|\bthread_rank\b|\bblockDim\b")
_IN_GRID = re.compile(r"\bblockIdx\.\w\s*\*\s*blockDim\.\w|\bblockDim\.\w\s*\*\s*blockIdx\.\w")
"""What a thread's number in the grid begins with."""
_LANE = re.compile(r"\b(lane|lane_?id)\b", re.IGNORECASE)


def constants(facts: Facts) -> Iterator[Trap]:
    """Numbers of lanes, or of warps by 32, that a name at file scope holds."""
    if not any(inside.for_warps for inside in facts.functions):
        return
    for node in of_type(facts.source.nodes, "preproc_def", "preproc_function_def"):
        if _counted_in(facts, node.child_by_field_name("value")):
            yield _by_32(facts, node, LIKELY)
    for node in of_type(facts.source.nodes, "preproc_def", "init_declarator"):
        name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        value = node.child_by_field_name("value")
        if not re.search(r"warp|lane", text_of(name), re.IGNORECASE) or value is None:
            continue
        if node.type == "init_declarator" and facts.on_device(node.start_byte):
            continue
        text = without_comments(value)
        of_warps = re.search(r"/\s*\(?\s*(32|\w*warp_?(size|threads)\w*)\b", text, re.IGNORECASE)
        logarithm = re.search(r"log", text_of(name), re.IGNORECASE) and 5
        if of_warps or number(text, facts.source.constants) == (logarithm or _WARP):
            yield _by_32(facts, node, LIKELY)


def _by_32(facts: Facts, node: Node, sure: str, more: str = "") -> Trap:
    """Lanes counted by 32: also in the HIP text where matrix units take the wave as it is."""
    words = "lanes or warps are counted by 32; a wave of MI100, MI200, MI300 has 64 lanes" + more
    kept = "mma_sync" in facts.source.text
    return Trap("warps/hard-coded-32", *at(node), "results", sure, words, kept=kept)


def _counted_in(facts: Facts, value: Node | None) -> bool:
    """Whether a macro's text counts lanes or warps by 32: (threadIdx.x & 31)."""
    if value is None or not _OF_THREADS.search(text_of(value)):
        return False
    some = map(sides, of_type(walk(parsed(value.text)), "binary_expression"))
    return any(
        facts.source.value_of(right) == _BY_SIGN.get(sign, -1) and _OF_THREADS.search(text_of(left))
        for left, sign, right in some
    )


def last_lanes(inside: Inside) -> Iterator[Trap]:
    """The last lane by its number, and steps of a warp's width."""
    if not inside.for_warps:
        return
    for node in inside.nodes:
        if found := _last_lane(inside, node) or _steps_by_32(inside, node):
            words, sure = found
            yield Trap("warps/hard-coded-32", *at(node), "results", sure, words)


def _last_lane(inside: Inside, node: Node) -> tuple[str, str] | None:
    """lane == 31: wrong where the lane is counted by warpSize."""
    if node.type != "binary_expression":
        return None
    left, sign, right = sides(node)
    if sign not in ("==", "!=", "<") or not _LANE.search(text_of(left)):
        return None
    if inside.number(right) != _WARP - 1:
        return None
    wide = any("warpSize" in text_of(v) for v in inside.values.get(text_of(left), []))
    words = "31 is a warp's last lane; that of a wave of MI100, MI200, MI300 is 63"
    return words, CERTAIN if wide else POSSIBLE


def _steps_by_32(inside: Inside, node: Node) -> tuple[str, str] | None:
    """for (i = lane; i < n; i += 32)."""
    loop = node.parent
    if node.type != "assignment_expression" or loop is None or loop.type != "for_statement":
        return None
    _, sign, right = sides(node)
    begins = loop.child_by_field_name("initializer")
    by_lane = _LANE.search(text_of(begins))
    if sign != "+=" or inside.number(right) != _WARP:
        return None
    if not by_lane and not inside.has(begins, inside.plainly_of_thread):
        return None
    words = "the lanes of a warp step by 32; a wave of MI100, MI200, MI300 has 64"
    return words, LIKELY if by_lane else POSSIBLE


def hard_coded(inside: Inside) -> Iterator[Trap]:
    """Lanes and warps counted by 32, where lanes tell each other something."""
    if not inside.for_warps:
        return
    mixed = bool(re.search(r"\bwarpSize\b", inside.text))
    for node in _thirty_two(inside):
        certainty = CERTAIN if mixed else LIKELY if _is_of_warps(inside, node) else POSSIBLE
        yield _by_32(inside.facts, node, certainty, ", and warpSize stands beside it" * mixed)


def _is_of_warps(inside: Inside, node: Node) -> bool:
    """Whether a function that counts by 32 has functions of warps, or names what it counts so."""
    around = next(enclosing(node, ("init_declarator", "assignment_expression"), inside.node), node)
    named = re.search(r"lane|warp|wid", text_of(around), re.IGNORECASE)
    compared = re.search(r"[=!]=\s*\(?\s*(0|31)\b", text_of(node.parent))
    return bool(
        named or compared or inside.names_called & inside.facts.of_warps or inside.uses_tiles
    )


_WITHOUT_UPPER = re.compile(
    r"\(\s*1[uUlL]*\s*<<\s*[\w.()& ]+\)\s*-\s*1|0x[fF]{8}[uU]?\s*>>|\b0x[fF]{8}[uU]?\s*<<"
)
_WITH_UPPER = re.compile(r"1\s*[uU]?[lL]{1,2}[uU]?\s*<<")


def lane_masks(inside: Inside) -> Iterator[Trap]:
    """Masks of the lanes below one, in 32 bits."""
    if not (inside.names_called & (BALLOTS | MATCHES) or inside.for_warps):
        return
    for node in of_type(inside.nodes, "binary_expression"):
        text, around = text_of(node), node.parent
        if not _WITHOUT_UPPER.match(text) or _WITH_UPPER.search(text):
            continue
        if around is not None and around.type == "binary_expression":
            continue
        if re.search(r"lane|threadIdx|tid|&\s*31|%\s*32", text):
            words = "the mask ends at lane 31; a wave has 64 lanes"
            yield Trap("warps/lane-mask", *at(node), "results", CERTAIN, words)


def size_as_constant(inside: Inside) -> Iterator[Trap]:
    """warpSize where a constant must stand."""
    for node in of_type(inside.nodes, "array_declarator", "template_argument_list"):
        held = node.child_by_field_name("size") if node.type == "array_declarator" else node
        if re.search(r"\bwarpSize\b", text_of(held)):
            words = "warpSize is no constant in CUDA, nor in HIP from ROCm 7 on"
            yield Trap("warps/warp-size-constant", *at(node), "compile", CERTAIN, words)


def implicit(inside: Inside) -> Iterator[Trap]:
    """Steps of a warp with nothing between them: by volatile, or by nothing at all."""
    steps = [node for node in inside.nodes if _is_step(inside, node)]
    groups: dict[int, list[Node]] = {}
    for node in steps:
        groups.setdefault(_statement(node).parent.id, []).append(node)
    for found in groups.values():
        if len(found) < 2:
            continue
        names = {array_of(n.child_by_field_name("left")) for n in found}
        kept = any("volatile" in inside.types.get(name, "") for name in names)
        yield from _in_step(at(found[0]), kept)


def _in_step(place: tuple[int, str], kept: bool) -> Iterator[Trap]:
    words = (
        "the steps of a warp are kept in order by volatile alone: OpenCL's "
        "devices and NVIDIA's since Volta promise no lockstep"
        if kept
        else "one step of a warp after the other with nothing between them: the compiler "
        "may keep values in registers"
    )
    for platform, sure in ((HIP, POSSIBLE if kept else CERTAIN), (OPENCL, CERTAIN)):
        yield Trap(_STEPS, *place, "results", sure, words, platform)


def tags(inside: Inside) -> Iterator[Trap]:
    """do { p[i] = x; } while (p[i] != x) through volatile: lanes take turns without atomics."""
    for node in inside.by_tags:
        words = (
            "lanes of a warp write to one place until each has seen its own value: that needs "
            "a warp of 32 lanes in lockstep; an atomic does not"
        )
        for platform in (HIP, OPENCL):
            yield Trap(_STEPS, *at(node), "results", LIKELY, words, platform)


_STEPS = "synchronisation/volatile-warp"


def _is_step(inside: Inside, node: Node) -> bool:
    """s[i] += s[i + 32], or s[i] = s[i] + s[i + 32], with a number for the distance."""
    if node.type != "assignment_expression":
        return False
    left, _, right = sides(node)
    if left is None or left.type != "subscript_expression":
        return False
    array = array_of(left)
    pattern = rf"{re.escape(array)}\s*\[[^\]]*\+\s*(\d+)\s*\]"
    return (
        array in inside.types
        and any(int(n) <= _WARP for n in re.findall(pattern, text_of(right)))
        and not _barrier_beside(node)
    )


def _statement(node: Node) -> Node:
    """The statement that an assignment is, with the conditions before it."""
    node = node.parent or node
    while node.parent is not None and node.parent.type == "if_statement":
        node = node.parent
    return node


def _barrier_beside(node: Node) -> bool:
    after = _statement(node).next_named_sibling
    return any(called(call) in BARRIERS | {"__syncwarp"} for call in calls_in(after))


def spinning(inside: Inside) -> Iterator[Trap]:
    """Lanes, warps and blocks that wait for each other."""
    for node in of_type(inside.nodes, *_LOOPS):
        condition = node.child_by_field_name("condition")
        read = _waited_for(inside, node) if condition is not None else None
        if read is None:
            continue
        entry, sure = "warps/independent-scheduling", LIKELY
        others = _other_lanes(inside, node, read)
        if any(called(call) in _TAKEN for call in calls_in(condition)):
            if others is None or _called_by_one(inside):
                continue  # one thread of a block, which no other one keeps from its work
            words = "a lane that holds the lock waits for lanes of its own wave: no end on AMD"
        elif others:
            words = (
                f"lanes wait for others of their wave, for which {others} is decided otherwise: no "
                "end on AMD, where a wave goes one way after the other"
            )
        elif inside.has(read, frozenset(inside.shared)) or re.search("[wW]arp", text_of(read)):
            words = (
                "a warp waits for another's word: on a wave of 64 two warps are in step, and "
                "the one that waits keeps the other from its work"
            )
        else:
            entry, sure = "host/cooperative-launch", POSSIBLE
            words = "blocks wait for others, which need not run at the same time"
        yield Trap(entry, *at(condition), "hang", sure, words)


def _other_lanes(inside: Inside, loop: Node, read: Node) -> str | None:
    """The condition by which other threads of the block write what a loop waits for; nothing
    without one; None where one thread of the block alone is in the loop.
    """
    names = {text_of(n) for n in walk(read) if n.type == "identifier"} - inside.of_thread
    for branch in enclosing(loop, ("if_statement",), inside.node):
        condition = branch.child_by_field_name("condition")
        if not inside.has(condition, inside.of_thread):
            continue
        first, other = (branch.child_by_field_name(key) for key in ("consequence", "alternative"))
        if other is not None and other.start_byte <= loop.start_byte < other.end_byte:
            first, other = other, first
        if inside.has(other, names):
            return short(condition)
        if _of_one_thread(inside, condition):
            return None
    return ""


def _of_one_thread(inside: Inside, condition: Node | None) -> bool:
    """Whether a condition is true for one thread of a block alone."""
    parts = "".join(text_of(condition).split()).split("&&")
    more = any(f"threadIdx.{y}" in inside.text and y not in "".join(parts) for y in "yz")
    return not more and all(map(_ONE_THREAD.fullmatch, parts))


def _called_by_one(inside: Inside) -> bool:
    """Whether a function of the device is called by one thread of a block alone."""
    calls = [(f, call) for f in inside.facts.functions for call in f.calls]
    some = [(f, call) for f, call in calls if called(call) == inside.name]
    return bool(some) and all(
        any(
            _of_one_thread(f, branch.child_by_field_name("condition"))
            for branch in enclosing(call, ("if_statement",), f.node)
        )
        for f, call in some
    )


_ONE_THREAD = re.compile(
    r"\(*((threadIdx\.[xyz]|tid|\w+\.thread_rank\(\))==\d+|!(threadIdx\.[xyz]|tid))\)*"
)
_LOOPS = ("while_statement", "do_statement", "for_statement")
_TAKEN = ("atomicCAS", "atomicExch")
_READS = re.compile(r"atomic(Add|Or|CAS|Exch|Max|Min|And)\w*|__ldc[gv]|load\w*|ld_\w+")
_PAUSES = re.compile(rf"__threadfence\w*|__nanosleep|__syncwarp|__builtin_\w+|{_READS.pattern}")
_WORKING = ("update_expression", "break_statement", "return_statement")


def _waited_for(inside: Inside, loop: Node) -> Node | None:
    """What a loop that does nothing else reads from memory until it changes; None without any."""
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    read, set_here = [condition], set[str]()
    for node in walk(body):
        if node.type == "assignment_expression":
            left = node.child_by_field_name("left")
            if left is None or left.type != "identifier":
                return None
            set_here.add(text_of(left))
            read.append(node.child_by_field_name("right"))
        elif node.type in _WORKING or (
            node.type == "call_expression" and not _PAUSES.fullmatch(called(node))
        ):
            return None
    if any(n.type == "update_expression" for n in walk(loop.child_by_field_name("update"))):
        return None
    if len(read) > 1 and not inside.has(condition, set_here):
        return None
    for one in (n for part in read for n in walk(part)):
        if one.type in ("subscript_expression", "pointer_expression"):
            array = next((text_of(n) for n in walk(one) if n.type == "identifier"), "")
            kind = inside.types.get(array, "") or inside.facts.types.get(array, "")
            if "volatile" in kind or "volatile" in text_of(one) or array in inside.shared:
                return one
        elif one.type == "call_expression" and _READS.fullmatch(called(one)):
            return one
    return None


def half_empty(facts: Facts) -> Iterator[Trap]:
    """Launches with fewer threads than a wave has lanes."""
    for node in of_type(facts.source.nodes, "kernel_call_syntax"):
        block = "".join(map(text_of, node.named_children[1:2]))
        known = len(re.findall(rf"\bdim3\s+{re.escape(block)}\s*\(", facts.source.text)) < 2
        if known and 1 < (threads := math.prod(sizes_of(facts, block))) < 64:
            words = f"blocks of {threads} threads leave lanes of a wave of 64 idle"
            yield Trap("warps/half-empty-waves", *at(node), "speed", CERTAIN, words)


_GROUPS = named("groups")
"""What ROCm 5.2 has in the namespace; groups of 64 lanes at most beside it."""
_KNOWN = _GROUPS | {"plus", "less", "greater", "bit_and", "bit_or", "bit_xor", "this_cluster"}
"""And what is told of elsewhere."""
_LACKING = named("groups_lacking")
_OF_CLASSES = [("thread_block", name) for name in ("size", "num_threads", "thread_rank", "sync")]
_COPIES = ("wait", "wait_prior", "memcpy_async")


def groups(facts: Facts) -> Iterator[Trap]:
    """What HIP's cooperative groups lack."""
    name_of_all = "cooperative_groups"
    if name_of_all not in facts.source.text:
        return
    aliases = facts.own.aliases | {name_of_all}
    used = re.search(rf"using\s+namespace\s+({'|'.join(aliases)})\b", facts.source.text)
    lacking = _LACKING if used else frozenset()
    for word in facts.words:
        name = word.text
        of_class = (word.scope, name) in _OF_CLASSES
        if word.node is None or (facts.owns(word) and not of_class):
            continue
        if name == "coalesced_threads":
            words = "a coalesced group has up to 64 threads on a wave of 64, not a warp's 32"
            what = short(_whole_call(word.node))
            yield Trap("warps/cooperative-groups", word.line, what, "results", LIKELY, words)
        elif (word.scope in aliases and name not in _KNOWN) or (
            (word.scope is None and name in lacking) or of_class
        ):
            entry = "memory/async-copy" if name in _COPIES else "warps/cooperative-groups"
            words = f"HIP's cooperative groups have no {name}"
            yield Trap(entry, *at(_whole_call(word.node)), "compile", CERTAIN, words)


def _whole_call(node: Node) -> Node:
    """The call of a name, or the name with what stands before it."""
    while node.parent is not None and node.parent.type in (
        *("qualified_identifier", "template_function", "call_expression", "template_type"),
    ):
        if node.type == "call_expression":
            break
        node = node.parent
    return node


_GROUP = r"thread_block_tile\s*<[^;{}]*?>|thread_block|grid_group|thread_group|coalesced_group"
_MADE = r"\b(?:tiled_partition|this_thread_block|this_grid|coalesced_threads)\b"
_DECLARED = re.compile(rf"\b(?:{_GROUP})\s*&?\s*(\w+)|\bauto\s*&?\s*(\w+)\s*=\s*[\w:]*{_MADE}")
_TILED = re.compile(r"\bauto\s*&?\s*(\w+)\s*=\s*[\w:]*\btiled_partition\s*<")
_MEMBERS = frozenset(
    (
        *("size", "thread_rank", "group_index", "thread_index", "sync", "is_valid", "cg_type"),
        *("shfl", "shfl_up", "shfl_down", "shfl_xor", "num_grids", "grid_rank"),
    )
)
"""Members of groups that ROCm 5.2 has."""


def members(facts: Facts) -> Iterator[Trap]:
    """Functions of groups that HIP got later."""
    if "cooperative_groups" not in facts.source.text:
        return
    found = {name for pair in _DECLARED.findall(facts.source.text) for name in pair if name}
    tiles = frozenset(_TILED.findall(facts.source.text))
    for call in facts.calls:
        function = call.child_by_field_name("function")
        if called(call) == "tiled_partition" and (given := arguments(call)):
            of = given[0]
            if text_of(of) in tiles or (of.type == "call_expression" and "<" in text_of(of)):
                words = "HIP's tiles are made of blocks alone in ROCm 5.2, not of other tiles"
                yield Trap("warps/group-members", *at(call), "compile", LIKELY, words)
        if function is None or function.type != "field_expression":
            continue
        name, of = called(call), text_of(function.child_by_field_name("argument"))
        temporary = re.match(rf"[\w:\s]*{_MADE}", of) is not None
        if name not in _MEMBERS and (of in found or temporary):
            words = f"groups have no {name} in ROCm 5.2"
            yield Trap("warps/group-members", *at(call), "compile", LIKELY, words)


TRAPS = (
    *map(of_functions, (masks, last_lanes, tags, votes, shuffles, hard_coded, lane_masks)),
    *map(of_functions, (size_as_constant, implicit, spinning)),
    *(in_macros, constants, half_empty, groups, members),
)
