## Random integers, one a block of the stream, or the stream's words themselves.
## v: Writer, dtype's bytes, span: whether integers are drawn, threads
<%namespace file="/random/philox.mako" import="philox"/>
<%
    from portmp.codegen.writer import SCALAR
    p = v.platform
    wide = f"unsigned {p.index}"
    kind = wide if size == 8 else SCALAR[f"uint{8 * size}"]
%>
${philox(v)}
% if raw:
/* out[i] is word i of the stream, from the first block on, of which some are skipped */
% else:
/* out[i] = low + floor(X span / 2^128), X the four words of block i; no span: 2^64 */
% endif
${p.kernel.format(threads)} ${head()}
{
    const ${p.index} item = (${p.index})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
% if raw:
    if (item * 4 - skipped >= n)
        return;
    const philox_block x = philox(block + item, upper0, upper1, key0, key1);
% for k in range(4):
    {
        const ${p.index} i = item * 4 + ${k} - skipped;
        if (i >= 0 && i < n)
            out0[out_start + i] = x.x${k};
    }
% endfor
% else:
    if (item >= n)
        return;
    const philox_block x = philox(block + item, upper0, upper1, key0, key1);
    ${wide} product, sum, high, carry = 0;
% for k in range(5):
    sum = carry;
    high = 0;
% for j in range(2):
% if 0 <= k - j < 4:
    product = (${wide})x.x${k - j} * span${j};
    sum += (unsigned)product;
    high += product >> 32;
% endif
% endfor
    carry = high + (sum >> 32);
% endfor
    const ${wide} above = carry << 32 | (unsigned)sum;
    const ${wide} all = (${wide})x.x3 << 32 | x.x2;
    out0[out_start + item] = (${kind})(low + (span0 | span1 ? above : all));
% endif
}
