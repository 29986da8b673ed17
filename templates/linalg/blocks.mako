## What factorisations of small matrices do beside a panel, in the same launch: a triangular system for
## *right* columns on the right of it, and products. A thread has a column *j*, and every so many-th row
## of it, *abreast*, from *side* on. Operands are lambdas of row and column that give an element's place
## in memory.
<%namespace name="small" file="/linalg/small.mako"/>
<%namespace file="/blas/epilogue.mako" import="scaled"/>
<%def name="put(w, operand, at, value, pad)">
% for k in w.limbs:
${pad}${w.store(operand, k, at, w.word_of(value, k))}
% endfor
</%def>
## A lower triangular system of as many *unknowns*: those of column j take the place of *b*. *divided*:
## whether the diagonal is not all ones.
<%def name="system(w, networks, most, abreast, right, a, a_at, b, b_at, divided)">
<% own, long = most // abreast, w.platform.index %>\
        const int there = j < ${right};
        ${w.value} mine[${own}];
% for v in range(own):
        mine[${v}] = ${w.zero()};
        if (there && side + ${v * abreast} < unknowns) {
            const ${long} at = ${b_at(f"(side + {v * abreast})", "j")};
            mine[${v}] = ${w.element(b, "at")};
        }
% endfor
## The first of a thread's unknowns that are not known is always mine[0]. Where its next factors are.
        const ${long} row_step = ${a_at("1", "0")} - (${a_at("0", "0")}), column_step = ${a_at("0", "1")} - (${a_at("0", "0")});
        ${long} factors = ${a_at("side", "0")};
        ${small.rolled(w)}
        for (int k = 0; k < unknowns; ++k) {
            const int turn = k % ${abreast}, next = k - turn + side, spot = k % 2 * ${most} + j;
            if (side == turn) {
                ${w.value} x = mine[0];
% if divided:
                const ${long} pivot = ${a_at("k", "k")};
                x = ${w.function(networks["div"])}(x, ${w.element(a, "pivot")});
${small.narrowed(w, "x", " " * 16)}\
% endif
${small.kept(w, "known", "spot", "x", " " * 16)}\
                if (there) {
                    const ${long} at = ${b_at("k", "j")};
${put(w, b, "at", "x", " " * 20)}\
                }
            }
            ${w.platform.barrier}
            const ${w.value} x = ${w.pack(f"known{k}[spot]" for k in w.limbs)};
            ${long} at = factors;
% for v in range(own):
            if (next + ${v * abreast} < unknowns${" && side > turn" if v == 0 else ""}) {
                mine[${v}] = ${w.function(networks["fma"])}(${w.function(networks["neg"])}(${w.element(a, "at")}), x, mine[${v}]);
${small.narrowed(w, f"mine[{v}]", " " * 16)}\
            }
            at += ${abreast} * row_step;
% endfor
            factors += column_step;
            if (turn == ${abreast - 1}) {
                factors += ${abreast} * row_step;
% for v in range(own - 1):
                mine[${v}] = mine[${v + 1}];
% endfor
            }
        }
</%def>
## Of column j of c, *rows* of them: the product of a and b over *steps*, or *less* it. *inside*: whether
## row i's element is written. Few rows' sums at once; rows beyond the last one repeat it, so that no sum
## waits for another.
<%def name="product(w, networks, abreast, period, right, rows, steps, a, a_at, b, b_at, c, c_at, less, inside='1')">
<%
    p, long, state, settle = w.platform, w.platform.index, networks["accumulate"].result, networks.get("renormalise")
    count = max(1, min(8, 192 // sum(networks["accumulate"].cost.values())))
    row = lambda u: f"(top + {u * abreast} < {rows} ? top + {u * abreast} : {rows} - 1)"
%>\
        for (int top = side; top < ${rows}; top += ${count * abreast}) {
            const int there = j < ${right};
            ${w.type(state)} sum[${count}];
% for u in range(count):
            sum[${u}] = ${w.zero(state)};
            const int i${u} = ${row(u)};
% endfor
            for (int done = 0; done < ${steps}; done += ${period}) {
                const int end = ${steps} - done < ${period} ? ${steps} : done + ${period};
                ${small.rolled(w)}
                for (int step = done; step < end; ++step) {
                    ${w.value} x = ${w.zero()};
                    if (there) {
                        const ${long} at = ${b_at("step", "j")};
                        x = ${w.element(b, "at")};
                    }
% for u in range(count):
                    {
                        const ${long} at = ${a_at(f"i{u}", "step")};
                        sum[${u}] = ${w.function(networks["accumulate"])}(sum[${u}], ${w.element(a, "at")}, x);
                    }
% endfor
                }
% if settle is not None:
                if (end == done + ${period}) {
% for u in range(count):
                    sum[${u}] = ${w.function(settle)}(sum[${u}]);
% endfor
                }
% endif
            }
% for factor, value in (("alpha", -1 if less else 1), ("beta", 1)):
% for k in w.limbs:
            const ${w.word} ${factor}${k} = ${w.literal(0 if k else value)};
% endfor
% endfor
            const int alpha_is_one = ${int(not less)}, beta_kind = ${int(less)};
            const ${long} k = ${steps};
% for u in range(count):
            {
                const int i = top + ${u * abreast};
                if (i < ${rows} && there && ${inside}) {
                    const ${long} to = ${c_at("i", "j")};
                    ${w.value} z = ${w.function(networks["finish"])}(sum[${u}]);
                    if (!(${w.fabs(w.word_of("z", 0))} <= ${w.largest})) {
                        const ${long} a_first = ${a_at("i", "0")}, b_first = ${b_at("0", "j")};
                        const ${w.scalar} chain = leading_chain(
                            ${w.leading(a, pass_on=True)}, a_first, ${a_at("i", "1")} - a_first,
                            ${w.leading(b, pass_on=True)}, b_first, ${b_at("1", "j")} - b_first, k);
                        z = ${w.alone("chain")};
                    }
${scaled(w, networks, "z", w.element(c, "to"), " " * 20)}\
${put(w, c, "to", "z", " " * 20)}\
                }
            }
% endfor
        }
</%def>
