## Exact sums in long accumulators: a work-item takes every so-many-th term of an element's sum.
## w: Writer, accumulator: its digits, factors: 2 for products, 1 for values, addend: whether beta c
## is added; held: words that hold a sum before it goes to an accumulator, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/exact/words.mako" import="numbers, products, significands, words"/>
<%!
    from portmp.routines.exact.accumulator import MISSES, SAFE, SMALLEST
%>
<%
    p, long = w.platform, w.platform.index
    n, digits, product = list(w.limbs), accumulator.digits, accumulator.factors == 2
    least, most = SAFE
    unit = -SMALLEST[w.format.word] if product else 0
    rests = ["p", "e"] if product else ["p"]
    left = [f"{rest} != {w.literal(0)}" for rest in rests]
    left = f"({left[0]}) | ({left[1]})" if product else left[0]
%>
${arithmetic(w, [], gates=["two_sum", *(["two_prod"] if product else [])] if held else [])}
${words(w, accumulator.factors, held)}
/* accumulators begin so far apart, their digits follow each other by steps;
   element first + item % count of m x n, every parts-th of its k terms from item / count on */
${p.kernel.format(threads)} ${head()}
{
    const ${long} item = (${long})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    const ${long} items = count * parts;
    if (item >= items)
        return;
    const ${long} element = first + item % count, part = item / count;
    const ${long} row = element / n, col = element % n;
    ${p.pointer.format(long)}mine = work + item * stride;
    ${long} special = 0, carry = 0;
    ${long} a_at = a_start + row * a_row + part * a_col;
% if product:
    ${long} b_at = b_start + part * b_row + col * b_col;
% endif
    ${p.unrolled_by(1)}
    for (int digit = 0; digit < ${digits}; ++digit)
        mine[digit * step] = 0;
% if held:
    ${w.scalar} ${", ".join(f"s{i} = {w.literal(0)}" for i in range(held))};
    int misses = 0;
% endif
    for (${long} i = part; i < k; i += parts) {
% if held:
        const ${w.scalar} x = ${w.limb("a", 0, "a_at")};
% if product:
        const ${w.scalar} y = ${w.limb("b", 0, "b_at")};
        ${w.scalar} e, p = ${w.gate("two_prod")}(x, y, &e);
        if (misses < ${MISSES} && ${w.fabs("p")} >= ${w.literal(least)} && ${w.fabs("p")} <= ${w.literal(most)}) {
% else:
        ${w.scalar} p = x;
        if (misses < ${MISSES} && ${w.fabs("p")} <= ${w.literal(most)}) {
% endif
% for i in range(held - 1):
${into_word(i, 12)}\
% endfor
            if (${left}) {
${into_word(held - 1, 16)}\
                if (${left}) {
                    ++misses;
% for rest in rests:
                    add_word(mine, step, ${rest}, ${unit});
% endfor
                }
            }
        } else {
${significands("x", ["x"], n, 12)}\
% if product:
${significands("y", ["y"], n, 12)}\
${products("x", "y", n, pad=12)}\
% else:
${numbers("x", n, 12)}\
% endif
        }
% else:
${significands("x", [w.limb("a", i, "a_at") for i in n], n)}\
% if product:
${significands("y", [w.limb("b", i, "b_at") for i in n], n)}\
${products("x", "y", n)}\
% else:
${numbers("x", n)}\
% endif
% endif
        a_at += parts * a_col;
% if product:
        b_at += parts * b_row;
% endif
    }
% for i in range(held):
    add_word(mine, step, s${i}, ${unit});
% endfor
% if addend:
    if (part == 0) {
        const ${long} c_at = c_start + row * c_row + col * c_col;
${significands("x", [w.limb("c", i, "c_at") for i in n], n)}\
${significands("y", [f"beta{i}" for i in n], n)}\
${products("x", "y", n)}\
    }
% endif
    ${p.unrolled_by(1)}
    for (int digit = 0; digit < ${digits - 1}; ++digit) {
        carry += mine[digit * step];
        mine[digit * step] = carry & 0xffffffff;
        carry >>= 32;
    }
    mine[${digits - 1} * step] = carry;
    mine[${digits} * step] = special;
}
## What is left of a value, or of a product and its error, goes into the word i of those that hold a sum.
<%def name="into_word(i, pad)">\
<% product, pad = accumulator.factors == 2, " " * pad %>\
${pad}s${i} = ${w.gate("two_sum")}(s${i}, p, &p);
% if i and product:
${pad}s${i} = ${w.gate("two_sum")}(s${i}, e, &e);
% endif
</%def>\
