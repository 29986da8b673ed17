## Values of one format in another: each limb is what is left of the exact value, rounded as it is stored.
## w: Writer of the longer of the two formats' words; x and out have formats of their own; rank, threads
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/arrays/axes.mako" import="element"/>
<%!
    from portmp.codegen.elements import at
%>
<%
    p, double = w.platform, w.scalar == "double"
    source, target = w.storage("x"), w.storage("out")
    words = [f"v{k}" for k in w.held_limbs("x")]
    integer, image, number = (p.index, "as_long", "as_double") if double else ("int", "as_int", "as_float")
    half_ulp = w.literal(2.0**970 if double else 2.0**103)
    same = lambda one: one.plain and one.word == w.format.word
    narrower = double and any(one.parts and one.word == "float32" for one in target.encodings)

    def sign_of_the_first(names):
        """The first of these numbers that is not zero."""
        return f"({names[0]} != 0 ? {names[0]} : {sign_of_the_first(names[1:])})" if len(names) > 1 else "".join(names) or w.literal(0)
%>
${arithmetic(w, [])}
% if w.first("sum_and_rest"):
/* s + e = a + b exactly; s is the nearest number but where it would be infinite: then s is a, the larger one */
${p.function} ${w.word} sum_and_rest(const ${w.word} a, const ${w.word} b, ${p.out_parameter.format(w.word)}e)
{
    const ${w.word} s = a + b, t = s - a;
    const int finite = ${w.fabs("s")} <= ${w.largest};
    *e = finite ? (a - (s - t)) + (b - t) : b;
    return finite ? s : a;
}

/* x, the nearest number to x + e + what is left (ties go to even), where e may be a tie that this decides; e is
   what differs then */
${p.function} ${w.word} nearest(const ${w.word} x, ${p.out_parameter.format(w.word)}e, const ${w.word} left)
{
    const ${w.word} y = *e + *e, z = x + y;
    const int away = (*e > 0) == (left > 0) && left != 0 && z - x == y;
    const int beyond = ${w.fabs("x")} == ${w.largest} && ${w.fabs("*e")} >= ${half_ulp}
        && (*e > 0) == (x > 0) && (left == 0 || (left > 0) == (x > 0));
    *e = away ? -*e : *e;
    return away || beyond ? z : x;
}

/* x or, where something is left and its last bit is even, its neighbour toward that: fewer bits
   of it are a tie only where those of the sum are */
${p.function} ${w.word} odd(const ${w.word} x, const ${w.word} left)
{
    const ${integer} bits = ${w.bits(image, "x")};
    const ${integer} next = (left > 0) == (x > 0) ? bits + 1 : bits - 1;
    const ${integer} chosen = left == 0 || (bits & 1) ? bits : next;
    return ${w.bits(number, "chosen")};
}

% endif
% if narrower and w.first("narrowed_to_odd"):
/* the same of a word of 64 bits that has to be one of 32 */
${p.function} float narrowed_to_odd(const double x)
{
    const float y = (float)x;
    int bits = ${w.bits("as_int", "y")};
    if (${w.fabs("x")} <= ${w.largest} && (double)y != x)
        bits = (bits - (${w.fabs("(double)y")} > ${w.fabs("x")})) | 1;
    return ${w.bits("as_float", "bits")};
}

% endif
${p.kernel.format(threads)} ${head()}
{
${element(w, rank, threads)}\
    const ${p.index} from = ${at("x", rank)}, to = ${at("out", rank)};
% for k, x in enumerate(words):
    ${w.word} ${x} = ${w.limb("x", k, "from")};
% endfor
    /* zeros, infinities and NaN are their leading limb */
    const ${w.word} first = v0;
    const int special = !(${w.fabs("first")} <= ${w.largest}) || first == 0;
    int ended = special;
% for i, one in enumerate(target.encodings):
    ${w.word} z${i} = 0;
% endfor
    if (!special) {
% if len(words) > 1:
        ${w.word} sum;
        /* no two words have bits of the same place: the words grow by one after another (Shewchuk 1997) */
% for k in range(len(words) - 2, -1, -1):
        sum = v${k};
% for j in range(len(words) - 1, k, -1):
        sum = sum_and_rest(sum, v${j}, &v${j});
% endfor
        v${k} = sum;
% endfor
% endif
<% held = list(words) %>\
% for i, one in enumerate(target.encodings):
% if one.parts and held:
% for upper, lower in reversed(list(zip(held, held[1:]))):
        ${upper} = sum_and_rest(${upper}, ${lower}, &${lower});
% endfor
% if same(one):
% if len(held) > 1:
        z${i} = nearest(${held[0]}, &${held[1]}, ${sign_of_the_first(held[2:])});
% else:
        z${i} = ${held[0]};
% endif
<% held = held[1:] %>\
% elif one.word == w.format.word:
        z${i} = odd(${held[0]}, ${sign_of_the_first(held[1:])});
% else:
        z${i} = odd(${held[0]}, ${sign_of_the_first(held[1:])});
% if one.plain:
        z${i} = (float)z${i};
% if i + 1 < len(target.encodings):
        ${held[0]} -= z${i};
% endif
% endif
% endif
% endif
% endfor
    }
% for i, one in enumerate(target.encodings):
% if one.parts:
% if i:
    z${i} = ended || !(${w.fabs(f"z{i}")} <= ${w.largest}) ? 0 : z${i};
% else:
    z0 = special ? first : z0;
    ended |= !(${w.fabs("z0")} <= ${w.largest});
% endif
% if one.plain:
    out${i}[to] = ${"z" if same(one) else "(float)z"}${i};
% else:
    ${w.store("out", i, "to", f"narrowed_to_odd(z{i})" if double and one.word == "float32" else f"z{i}")}
% endif
% endif
% endfor
}
