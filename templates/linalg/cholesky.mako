## A block's Cholesky factor by one thread for each matrix, for devices whose threads take turns at barriers.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    fma, div, neg, sqrt = (w.function(networks[role]) for role in ("fma", "div", "neg", "sqrt"))
%>
<% held = lambda index: w.pack(f"held{k}[{index}]" for k in w.limbs) %>
<%def name="keep(index, value)">
% for k in w.limbs:
            held${k}[${index}] = ${w.narrow(k, w.word_of(value, k))};
% endfor
</%def>
${arithmetic(w, [networks["sqrt"], networks["div"], networks["neg"], networks["fma"]])}
/* the lower triangle of n rows; failed: the first order whose pivot is not positive */
${p.kernel.format(1)} ${head()}
{
% for k in w.limbs:
    ${p.shared} ${w.word} held${k}[${most * (most + 1) // 2}];
% endfor
    const int size = (int)n;
    const ${long} entry = ${p.axis(p.group_id, 0)};
    const ${long} base = a_start + entry * a_batch;

    for (int i = 0; i < size; ++i)
        for (int j = 0; j <= i; ++j) {
            const ${long} at = base + i * a_row + j * a_col;
            const ${w.value} read = ${w.element("a", "at")};
${keep("i * (i + 1) / 2 + j", "read")}
        }
    for (int k = 0; k < size; ++k) {
        const int pivot = k * (k + 3) / 2;
        const ${w.value} x = ${held("pivot")};
        const ${w.value} root = ${sqrt}(x);
        if (!(${w.word_of("x", 0)} > 0) && failed[entry] == 0)
            failed[entry] = origin + k + 1;
${keep("pivot", "root")}
        for (int i = k + 1; i < size; ++i) {
            const int at = i * (i + 1) / 2 + k;
            const ${w.value} l = ${div}(${held("at")}, ${held("pivot")});
${keep("at", "l")}
        }
        for (int i = k + 1; i < size; ++i) {
            const int row = i * (i + 1) / 2, left = row + k;
            for (int j = k + 1; j <= i; ++j) {
                const int at = row + j, right = j * (j + 1) / 2 + k;
                const ${w.value} z = ${fma}(${neg}(${held("left")}), ${held("right")}, ${held("at")});
${keep("at", "z")}
            }
        }
    }
    for (int i = 0; i < size; ++i)
        for (int j = 0; j <= i; ++j) {
            const ${long} at = base + i * a_row + j * a_col;
% for k in w.limbs:
            ${w.store("a", k, "at", w.word_of(held("i * (i + 1) / 2 + j"), k))}
% endfor
        }
}
