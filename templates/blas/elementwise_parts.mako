## One elementwise operator over dense operands that are stored short: a work-item takes
## neighbours, so that short parts are read and written in words of 16 bytes.
## w: Writer, networks["operator"], operands: [(name, access)], s: the schedule
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%!
    from portmp.codings import SIZES
    from portmp.formats import ROUNDINGS
    from portmp.writer import SCALAR

    def pieces(part, count):
        """Words of 32 bits of so many neighbours of a part, and how many are read at once."""
        words = SIZES[part] * count // 32
        return words, min(words, 4)

    def taken(part, words, e):
        """Neighbour e of a part, from the words that hold it, as unsigned or as a float."""
        size = SIZES[part]
        if size == 32:
            return f"{words}[{e}]"
        each = 32 // size
        mask = hex((1 << size) - 1)
        return f"({words}[{e} / {each}] >> {size} * ({e} % {each}) & {mask}u)"
%>
<%
    p, operator, count = w.platform, networks["operator"], s.neighbours
    arrays = [n for n, access in operands if access != "value"]
    form = w.storage("out")
    rounding = ROUNDINGS[form.rounding]
    places = [(i, j, part) for i, c in enumerate(form.codings) for j, part in enumerate(c.parts)]
%>
${arithmetic(w, [operator])}
/* out[i] = ${operator.name}(${", ".join(n for n, _ in operands)}) for all n elements: ${s.items} times ${count} neighbours a work-item */
${p.kernel.format(s.threads)} ${name}(
    const ${p.index} n,
% for operand, access in operands:
% if access == "value":
    ${w.scalars(operand)},
% else:
    ${w.planes(operand, const=True)}, const ${p.index} ${operand}_start,
% endif
% endfor
    ${w.planes("out", const=False)}, const ${p.index} out_start, const ${p.index} out_stride0)
{
    const ${p.index} first = ((${p.index})${p.axis(p.group_id, 0)} * ${s.threads * s.items} + ${p.axis(p.local_id, 0)}) * ${count};
% for operand, access in operands:
% if access == "value":
    const ${w.value} ${operand} = ${w.pack(f"{operand}{k}" for k in w.limbs)};
% endif
% endfor
% for operand in arrays:
% for i, j, part in places:
    unsigned ${operand}_words${i}_${j}[${s.items}][${pieces(part, count)[0]}];
% endfor
% endfor

    /* all loads before the first store, so that more of them are under way */
    ${p.unroll}
    for (int item = 0; item < ${s.items}; ++item) {
        const ${p.index} i = first + item * ${s.threads * count};
        if (i + ${count} <= n) {
% for operand in arrays:
% for i, j, part in places:
${moved(operand, i, j, part, True)}
% endfor
% endfor
        }
    }
    ${p.unroll}
    for (int item = 0; item < ${s.items}; ++item) {
        const ${p.index} i = first + item * ${s.threads * count};
        if (i + ${count} <= n) {
% for i, j, part in places:
            unsigned out_words${i}_${j}[1][${pieces(part, count)[0]}];
% endfor
            ${p.unroll}
            for (int e = 0; e < ${count}; ++e) {
% for operand in arrays:
% for k in w.limbs:
${unpacked(operand, k)}
% endfor
                const ${w.value} ${operand} = ${w.pack(f"{operand}_{k}" for k in w.limbs)};
% endfor
                const ${w.value} result = ${w.function(operator)}(${", ".join(n for n, _ in operands)});
% for k in w.limbs:
${packed(k, w.word_of("result", k))}
% endfor
            }
% for i, j, part in places:
${moved("out", i, j, part, False)}
% endfor
        } else {
            /* the last elements */
            for (${p.index} at = i; at < n; ++at) {
% for operand in arrays:
                const ${w.value} ${operand} = ${w.pack(w.limb(operand, k, f"{operand}_start + at") for k in w.limbs)};
% endfor
                const ${w.value} result = ${w.function(operator)}(${", ".join(n for n, _ in operands)});
% for k in w.limbs:
                ${w.store("out", k, "out_start + at", w.word_of("result", k))}
% endfor
            }
        }
    }
}
<%def name="moved(operand, i, j, part, reads)">
<%
    words, once = pieces(part, count)
    pointer = w.platform.const_pointer if reads else w.platform.pointer
    plane = f"{operand}{i}" + (f"_{j}" if j else "")
    place = "item" if reads else "0"
    several = f"uint{once}" if once > 1 else "unsigned"

    def lane(l):
        return f"here.{'xyzw'[l]}" if once > 1 else "here"
%>
% for at in range(0, words, once):
            {
% if reads:
                const ${several} here = ((${pointer.format(several)})(${plane} + ${operand}_start + i))[${at // once}];
% for l in range(once):
                ${operand}_words${i}_${j}[${place}][${at + l}] = ${lane(l)};
% endfor
% else:
                ${several} here;
% for l in range(once):
                ${lane(l)} = out_words${i}_${j}[0][${at + l}];
% endfor
                ((${pointer.format(several)})(${plane} + out_start + i))[${at // once}] = here;
% endif
            }
% endfor
</%def>
<%def name="unpacked(operand, k)">
<%
    p, coding = w.platform, form.codings[k]
    words = [f"{operand}_words{k}_{j}[item]" for j in range(len(coding.parts))]
    bits = [taken(part, name, "e") for part, name in zip(coding.parts, words)]
%>
% if coding.kind == "none":
                const ${w.word} ${operand}_${k} = ${w.literal(0)};
% elif coding.kind in ("word", "single") and coding.parts[0] == "float64":
                double ${operand}_${k};
                {
                    double y;
                    ${w.bits("double_of", f"(int){words[0]}[2 * e + 1]", f"(int){words[0]}[2 * e]")}
                    ${operand}_${k} = y;
                }
% elif coding.kind in ("word", "single"):
                const ${w.word} ${operand}_${k} = ${w.bits("as_float", f"(int){bits[0]}")};
% else:
                const ${w.word} ${operand}_${k} = decoded_${coding.name}(${", ".join(bits)});
% endif
</%def>
<%def name="packed(k, word)">
<%
    p, coding = w.platform, form.codings[k]
    words = [f"out_words{k}_{j}[0]" for j in range(len(coding.parts))]
%>
% if coding.kind == "none":
<% return "" %>
% elif coding.parts == ("float64",):
                ${words[0]}[2 * e] = (unsigned)${w.bits("low_word", word)};
                ${words[0]}[2 * e + 1] = (unsigned)${w.bits("high_word", word)};
% elif coding.kind == "word":
                ${words[0]}[e] = (unsigned)${w.bits("as_int", w.narrow(k, word))};
% else:
                {
% for part, j in zip(coding.parts, range(len(coding.parts))):
                    ${SCALAR[part]} part${j};
% endfor
                    encode_${coding.name}${rounding}(${word}, ${", ".join(f"&part{j}" for j in range(len(coding.parts)))});
% for j, part in enumerate(coding.parts):
<% size = SIZES[part]; each = 32 // size %>
% if part == "float32":
                    ${words[j]}[e] = (unsigned)${w.bits("as_int", f"part{j}")};
% elif each == 1:
                    ${words[j]}[e] = part${j};
% else:
                    ${words[j]}[e / ${each}] = (e % ${each} ? ${words[j]}[e / ${each}] : 0u) | (unsigned)part${j} << ${size} * (e % ${each});
% endif
% endfor
                }
% endif
</%def>
