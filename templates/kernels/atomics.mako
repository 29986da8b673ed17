## Atomic operations that a platform does not have: loops of compare-and-swap on the bits.
<%def name="atomic(words, name, kind, combined, space)">
<%
    p, real = words.platform, kind.form is not None
    bits = words.type(f"int{8 * kind.bytes}")
    pointer = (p.shared_pointer if space == "block" else p.pointer).format
    to_bits, to_real = (p.as_int, p.as_float) if kind.bytes == 4 else (p.as_long, p.as_double)
    coded = (lambda x: to_bits.format(x, l="")) if real else (lambda x: f"({bits})({x})")
    decoded = (lambda x: to_real.format(x, l="")) if real else (lambda x: f"({kind})({x})")
    swap = p.atomics["compare_and_swap", bits.dtype]
%>
${p.function} ${kind} ${name}(${pointer(kind)}place, const ${kind} x)
{
    ${pointer(bits)}word = (${pointer(bits)})place;
    ${bits} seen = 0; /* a guess: a plain read would race */
    for (;;) {
        const ${kind} old = ${decoded("seen")};
        const ${kind} next = ${combined.format("old", "x")};
        const ${bits} found = ${swap.format("word", "seen", coded("next"))};
        if (found == seen)
            return old;
        seen = found;
    }
}

</%def>
