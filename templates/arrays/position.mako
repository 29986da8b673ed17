## Where the largest or the smallest element of each row is: the first of equals, or the first NaN.
## networks["compare"] of values; dtype of plain numbers; largest, part (elements of a block), threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%!
    from portmp.codegen.elements import Elements
    from portmp.definition import halvings
%>
<%
    p, long = w.platform, w.platform.index
    x = Elements(w, "x", dtype)
    words = [x.type] if dtype else [w.scalar] * w.format.limbs
    kept = "best0[{0}]" if dtype else w.pack(f"best{k}[{{0}}]" for k in w.limbs)
    parts = ["value"] if dtype else [w.word_of("value", k) for k in w.limbs]
    a, b = ("b", "a") if largest else ("a", "b")
%>
${arithmetic(w, list(networks.values()))}
/* whether a at i comes before b at j */
${p.function} int better(const ${x.type} a, const ${long} i, const ${x.type} b, const ${long} j)
{
% if dtype:
    return ${a} < ${b} || (a == b && i < j);
% else:
    const ${w.word} a0 = ${w.word_of("a", 0)};
    const ${w.word} b0 = ${w.word_of("b", 0)};
    if (a0 != a0 || b0 != b0)
        return a0 != a0 && (b0 == b0 || i < j);
    const ${w.word} sign = ${w.function(networks["compare"])}(${a}, ${b});
    return sign < 0 || (sign == 0 && i < j);
% endif
}

/* a block looks at ${part} elements of a row, or at those whose indices an earlier launch has left */
${p.kernel.format(threads)} ${head()}
{
% for i, word in enumerate(words):
    ${p.shared} ${word} best${i}[${threads}];
% endfor
    ${p.shared} ${long} place[${threads}];
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} block = (${long})${p.axis(p.group_id, 0)};
    const ${long} row = block / blocks;
    const ${long} first = block % blocks * ${part};
    const ${long} last = first + ${part} < k ? first + ${part} : k;
    const ${long} base = x_start + row * x_row;
    ${long} index = -1;
    ${x.type} value = ${"0" if dtype else w.zero()};

    for (${long} i = first + thread; i < last; i += ${threads}) {
        const ${long} j = given ? from[row * k + i] : i;
        const ${long} there = base + j * x_col;
        const ${x.type} found = ${x.load("there")};
        if (index < 0 || better(found, j, value, index)) {
            value = found;
            index = j;
        }
    }
% for i, text in enumerate(parts):
    best${i}[thread] = ${text};
% endfor
    place[thread] = index;
% for distance in halvings(threads):
    ${p.barrier}
    if (thread < ${distance}) {
        const ${long} j = place[thread + ${distance}];
        const ${x.type} other = ${kept.format(f"thread + {distance}")};
        if (j >= 0 && (index < 0 || better(other, j, value, index))) {
            value = other;
            index = j;
% for i, text in enumerate(parts):
            best${i}[thread] = ${text};
% endfor
            place[thread] = j;
        }
    }
% endfor
    if (thread == 0)
        to[block] = index;
}
