## Reciprocal square roots of words, for gravity: by kind, from what the platform has.
## The exact kinds are correctly rounded to float32, for any seed within one ulp (every
## float32 was tried): so all devices agree. Their Python twin is in portmp.networks.evaluator.
<%page args="w, net"/>
<%
    p, f = w.platform, w.single
    kind = net.name.removeprefix("inverse_root").strip("_")
    exact = kind in ("", "guarded")
    own = "single_root" in p.roots.get((kind, w.format.word), "")
    double = w.scalar == "double"
    head = f"{p.function} {w.word} {net.name}{w.lanes}(const {w.word} x)"
    whole = "int" + w.lanes
    estimate = "estimate" if w.traits.root == "ieee" else w.traits.root
    tiny = w.literal(2.0**-1022 if double else 2.0**-126)
%>
% if (exact or own) and w.first("single_root" + w.lanes):
% if double and w.traits.fma == "contracted" and w.first(f.fused):
${p.function} ${f.word} ${f.fused}(const ${f.word} a, const ${f.word} b, const ${f.word} c)
{
    #pragma clang fp contract(on)
    return a * b + c;
}

% endif
/* 1/sqrt(x), correctly rounded: one residual step of third order */
${p.function} ${f.word} single_root${w.lanes}(const ${f.word} x)
{
    ${f.word} y, h, e, r, c;
% if w.traits.root != "ieee":
    ${p.root(estimate, "float32", w.width)}
% else:
    y = ${f.divide(f.literal(1), f.sqrt("x"))};
% endif
    h = x * y;
    e = ${f.fma("x", "y", "-h")};
    r = ${f.fma("-h", "y", f.literal(1))};
    r = ${f.fma("-e", "y", "r")};
    c = ${f.fma(f.literal(0.375), "r", f.literal(0.5))};
    h = y * r;
    return ${f.fma("h", "c", "y")};
}

% endif
% if exact and double:
% if w.first("scaled_root" + w.lanes):
/* 1/sqrt(x) to float32's accuracy: of x = 4^k m, m in [1, 4) cut to a float, 2^-k that of m */
${p.function} ${w.word} scaled_root${w.lanes}(const ${w.word} x)
{
    const ${whole} high = ${w.bits("high_word", "x")}, low = ${w.bits("low_word", "x")};
    const ${whole} twice = (high - 0x3ff00000) & ~0x1fffff;
    const ${whole} m = ((high - twice - 0x38000000) << 3) | ${w.bits("unsigned_shift", "low", 29)};
    const ${whole} root = ${w.bits("as_int", f"single_root{w.lanes}({w.bits('as_float', 'm')})")};
    ${w.word} y;
    ${w.bits("double_of", "(root >> 3) + 0x38000000 - (twice >> 1)", "root << 29")}
    return y;
}

% endif
% endif
/* ${net.source}; error ${net.bound} */
${head}
{
% if exact:
<% root = ("scaled" if double else "single") + f"_root{w.lanes}(x)" %>
    return ${root if kind == "" else f"x >= {tiny} ? {root} : ({w.literal(0)} / {w.literal(0)})"};
% elif kind == "division":
    return ${w.literal(1)} / ${w.sqrt("x")};
% else:
    ${w.word} y;
    ${p.root(estimate if kind == "fast" else kind, w.format.word, w.width)}
% if kind == "fast" and double:
    /* one step of third order */
    const ${w.word} h = x * y, r = ${w.fma("-h", "y", w.literal(1))}, c = ${w.fma(w.literal(0.375), "r", w.literal(0.5))};
    y = ${w.fma("y * r", "c", "y")};
% endif
    return y;
% endif
}
