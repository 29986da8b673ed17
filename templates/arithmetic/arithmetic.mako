## The arithmetic of one format: word operations, types, and the networks and gates it needs.
<%!
    from portmp.formats.encodings import SIZES
%>
<%def name="arithmetic(w, networks, gates=())">
<% p = w.platform %>
<% nets = w.closure([*networks, *(one.net for one in w.computed)]) %>
## What is computed or rounded of vectors' lanes needs the same of words.
<% by_lanes = [net for net in nets if net.template == "stored.mako"] if w.width > 1 else [] %>
% if by_lanes or (w.width > 1 and w.computed):
${arithmetic(w.one, by_lanes)}
% endif
<% gates = {g for n in nets for g in n.gates} | set(gates) %>
<%include file="/arithmetic/storage.mako" args="w=w.one"/>
% if w.traits.fma == "contracted" and w.first(w.fused):
/* a*b + c with one rounding: contraction is on in this function and nowhere else */
${p.function} ${w.word} ${w.fused}(const ${w.word} a, const ${w.word} b, const ${w.word} c)
{
    #pragma clang fp contract(on)
    return a * b + c;
}

% endif
% if w.corrects_quotients(nets) and w.first(w.quotient):
% if w.scalar == "float":
/* a / b rounded to nearest, from a quotient that may be the neighbour: residuals are exact in doubles */
${p.function} float quotientf(const float a, const float b)
{
    const float q = a / b;
    if (q == 0.0f || !(${p.fabs["float32"].format("q")} <= 3.4028234663852886e+38f))
        return q;
    const double rest = (double)a - (double)q * (double)b;
    const int outwards = ((rest > 0.0) == (b > 0.0f)) == (q > 0.0f);
    const int bits = ${p.as_int.format("q")};
    const float moved = ${p.as_float.format("bits + (outwards ? 1 : -1)")};
    const double half_way = 0.5 * ((double)moved - (double)q) * (double)b;
    const double far = ${p.fabs["float64"].format("rest")} - ${p.fabs["float64"].format("half_way")};
    return far > 0.0 || (far == 0.0 && (bits & 1)) ? moved : q;
}

% else:
/* a number's mantissa, from 1 up to 2, with its sign */
${p.function} double mantissa(const double x)
{
    double y;
    ${p.double_of.format("(" + p.high_word.format("x") + " & 0x800fffff) | 0x3ff00000", p.low_word.format("x"))}
    return y;
}

/* a / b rounded to nearest, from a quotient that may be the neighbour */
${p.function} double quotient(const double a, const double b)
{
    const double q = a / b;
    const int exponent = ${p.high_word.format("q")} & 0x7ff00000;
    if (exponent == 0 || exponent == 0x7ff00000)
        return q;
    /* subnormal operands are scaled: only mantissas count */
    const double m = ${p.fabs["float64"].format("mantissa(q)")};
    const double d = ${p.fabs["float64"].format(f"mantissa({p.fabs['float64'].format('b')} < {2.0**-1000} ? b * {2.0**64} : b)")};
    double n = ${p.fabs["float64"].format(f"mantissa({p.fabs['float64'].format('a')} < {2.0**-1000} ? a * {2.0**64} : a)")};
    const double product = m * d;
    n = product > 1.5 * n ? 2.0 * n : product < 0.75 * n ? 0.5 * n : n;
    /* exact; a neighbour is nearer if it is more than half the way to it */
    const double rest = ${w.fma("-m", "d", "n")};
    const double half_way = rest < 0.0 && m == 1.0 ? ${2.0**-54} : ${2.0**-53};
    const int lowest = rest < 0.0 && m == 1.0 && exponent == 0x00100000;
    if (lowest || ${p.fabs["float64"].format("rest")} <= half_way * d)
        return q;
    const double moved = rest > 0.0 ? m + 2.0 * half_way : m - 2.0 * half_way;
    double y;
    ${p.double_of.format(p.high_word.format("moved") + " - 0x3ff00000 + (" + p.high_word.format("q") + " & (int)0xfff00000)", p.low_word.format("moved"))}
    return y;
}

% endif
% endif
% if "two_sum" in gates and w.first(w.gate("two_sum")):
/* s + e = a + b exactly (Knuth 1969) */
${p.function} ${w.word} ${w.gate("two_sum")}(const ${w.word} a, const ${w.word} b, ${p.out_parameter.format(w.word)}e)
{
    const ${w.word} s = a + b;
    const ${w.word} t = s - a;
    *e = (a - (s - t)) + (b - t);
    return s;
}

% endif
% if "fast_two_sum" in gates and w.first(w.gate("fast_two_sum")):
/* s + e = a + b exactly when |a| >= |b| or a = 0 (Dekker 1971) */
${p.function} ${w.word} ${w.gate("fast_two_sum")}(const ${w.word} a, const ${w.word} b, ${p.out_parameter.format(w.word)}e)
{
    const ${w.word} s = a + b;
    *e = b - (s - a);
    return s;
}

% endif
% if "two_prod" in gates and w.first(w.gate("two_prod")):
/* p + e = a * b exactly */
${p.function} ${w.word} ${w.gate("two_prod")}(const ${w.word} a, const ${w.word} b, ${p.out_parameter.format(w.word)}e)
{
    const ${w.word} p = a * b;
    *e = ${w.fma("a", "b", "-p")};
    return p;
}

% endif
% if "scale" in gates and w.first(w.gate("scale")):
<%
    double = w.scalar == "double"
    mask, twice, least, most = (
        ("0x7ff00000", "0x7fe00000", "0x00100000", "0x7fd00000")
        if double
        else ("0x7f800000", "0x7f000000", "0x00800000", "0x7e800000")
    )
%>
/* 2^-e of a number from 2^e up to 2^(e+1), where that and its reciprocal are normal numbers */
${p.function} ${w.word} ${w.gate("scale")}(const ${w.word} x)
{
    const int${w.lanes} turned = ${twice} - (${w.bits("high_word" if double else "as_int", "x")} & ${mask});
    const int${w.lanes} low = turned < ${least} ? ${least} : turned;
    const int${w.lanes} held = low > ${most} ? ${most} : low;
% if double:
    ${w.word} y;
    ${w.bits("double_of", "held", "0")}
    return y;
% else:
    return ${w.bits("as_float", "held")};
% endif
}

% endif
% if not all(d == w.format.word for d in w.format.planes) and w.first("narrowed"):
/* the low limb as it is stored; beyond float's range the value is its leading limb */
${p.function} float narrowed(const double x)
{
    const float y = (float)x;
    return fabs((double)y) <= 3.4028234663852886e+38 ? y : 0.0f;
}

% endif
% for kind in w.kinds(nets):
% if w.first(w.type(kind)):
typedef struct { ${w.word} ${", ".join(f"x{i}" for i in range(kind.words))}; } ${w.type(kind)};
${p.function} ${w.type(kind)} ${w.make(kind)}(${", ".join(f"const {w.word} x{i}" for i in range(kind.words))})
{
    const ${w.type(kind)} z = {${", ".join(f"x{i}" for i in range(kind.words))}};
    return z;
}

% endif
% endfor
% for kind in w.negated(nets):
% if w.first(w.type(kind) + "_negated"):
${p.function} ${w.type(kind)} ${w.type(kind)}_negated(const ${w.type(kind)} x)
{
    return ${w.make(kind)}(${", ".join(f"-x.x{i}" for i in range(kind.words))});
}

% endif
% endfor
<% not_inlined = w.not_inlined(nets) %>\
% for net in nets:
% if not w.first(w.function(net)):
<% continue %>
% endif
% if net.foreign:
<%include file="/arithmetic/${net.template}" args="w=w, net=net"/>
% else:
/* ${net.source}; error ${net.bound} */
% if net.name in not_inlined:
${p.noinline}
% endif
${w.signature(net)}
{
% for line in w.body(net):
    ${line}
% endfor
}

% endif
% endfor
% for one in w.computed:
<%include file="/arithmetic/computed.mako" args="w=w, one=one"/>
% endfor
</%def>
<%def name="anywhere(w)">
## vload and vstore are calls on some CPU runtimes; a pointer to this type is none.
% if w.width > 1 and w.first(w.anywhere):
/* vectors at any word's address */
typedef ${w.word} ${w.anywhere} __attribute__((aligned(${4 if w.scalar == "float" else 8})));

% endif
% if w.width > 1 and (w.encodings or w.mixed):
% for part in w.parts:
% if w.first(f"{w.held(part)}_anywhere"):
typedef ${w.held(part)} ${w.held(part)}_anywhere __attribute__((aligned(${SIZES[part] // 8})));
% endif
% endfor

% if w.mixed and w.first(f"narrowed{w.times}"):
<% p, n = w.platform, w.width %>
/* low limbs as they are stored; beyond float's range values are their leading limbs */
${p.function} float${n} narrowed${w.times}(const double${n} x)
{
    const float${n} y = convert_float${n}(x);
    const long${n} held = ${p.fabs["float64"].format(f"convert_double{n}(y)")} <= 3.4028234663852886e+38;
    return as_float${n}(as_int${n}(y) & convert_int${n}(held));
}

% endif
<%include file="/arithmetic/storage.mako" args="w=w"/>
% endif
</%def>
