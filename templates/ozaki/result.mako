## The kernel that makes values of C from exact sums; a template's body finds the sums: a few
## neighbours of a row a work-item, the first in column ``first`` of ``row``. For each element e of
## them the body sets s0[e], s1[e] ...: digits of the sum, the lowest first. Sums stand in whole tiles,
## so that all of them may be read.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%namespace file="/blas/leading_chain.mako" import="leading_chain"/>
<%namespace file="/ozaki/integers.mako" import="exact_sums, power_of_two, value_of_words, words_of_digits"/>
<%def name="result(count, base, weight, each=1, resident=1, parts=1)">
## count: digits of base 2^base; weight: the digits' unit is 2^weight times the product of the rows' powers of two; each:
## elements of a work-item; resident: blocks that a compute unit must hold; parts: 2 where these are the real part, in its row, and the
## imaginary one, so many rows further.
<%
    p, long = w.platform, w.platform.index
    double = w.double
    digits, words = range(count), range(doubles)
    line, beside = "line" if parts > 1 else "row", each // parts
%>
${arithmetic(w, [networks["add"], networks["mul"]])}
${arithmetic(double, [])}
${exact_sums(double)}
${power_of_two(double)}
${leading_chain(w, slab)}
${p.kernel_of(threads, resident)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} items = (n + ${beside - 1}) / ${beside};
    const ${long} row = item / items, first = item % items * ${beside};
    double ${", ".join(f"s{t}[{each}]" for t in digits)};
    if (row >= m)
        return;
    ${p.unroll}
    for (int e = 0; e < ${each}; ++e) {
% for t in digits:
        s${t}[e] = 0.0;
% endfor
    }
${caller.body()}
    ${p.unroll}
    for (int e = 0; e < ${each}; ++e) {
% if beside < each:
        const ${long} col = first, line = row + e * imaginary;
% else:
        const ${long} col = first + e;
% endif
        const ${long} c_at = c_start + ${line} * c_row + col * c_col;
        const ${long} out_at = out_start + ${line} * out_row + col * out_col;
        ${w.value} z;
        if (col >= n)
            return;
        if (a_exponents[a_first + row] == ${special} || b_exponents[b_first + col] == ${special}) {
            const ${w.scalar} chain = leading_chain(
                a0, a_start + ${line} * a_row, a_col, b0, b_start + col * b_col, b_row, k);
            z = ${w.pack(["chain"] + [w.literal(0)] * (w.format.limbs - 1))};
        } else {
            const int scale = a_exponents[a_first + row] + b_exponents[b_first + col] + (${weight});
            const int near = scale < -1000 ? -1000 : scale > 1000 ? 1000 : scale;
            const int far = scale - near;
            const int rest = far < -1022 ? -1022 : far > 1023 ? 1023 : far;
            double ${", ".join(f"z{i}" for i in words)}, error;
${words_of_digits(double, [f"s{t}[e]" for t in digits], len(words), base)}\
% for i in words:
            z${i} = z${i} * power_of_two(near) * power_of_two(rest);
% endfor
${value_of_words(w, double, len(words))}\
        }
${scaled(w, networks, "z", w.element("c", "c_at"), " " * 8)}
% for i in w.limbs:
        ${w.store("out", i, "out_at", w.word_of("z", i))}
% endfor
    }
}
</%def>
