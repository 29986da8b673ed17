## Digits of rows of a matrix: four neighbours of a row a work-item.
## w: Writer, integers: how many digits and how wide, word: what digits are written as, reverse: whether
## the first digit is written last, tiled: whether neighbours in memory are rows.
## Out: rows_padded rows of all digits of the first kind, then the second ..., depth_padded each.
<%namespace file="/ozaki/integers.mako" import="double_from_int"/>
<%namespace name="rows" file="/ozaki/operand.mako"/>
<%
    p, cut = w.platform, integers
    bytes_ = word == "int8"
    half = 1 << (cut.width - 1)
%>
% if word == "float64":
${double_from_int(w.double)}
% endif
<%rows:operand>
    out += (row * ${cut.count} * depth_padded + col)${" / 4" if bytes_ else ""};
% for t in range(cut.count):
<% place = t if reverse else cut.count - 1 - t %>
    {
% if bytes_:
        unsigned packed = 0;
% endif
        ${p.unroll}
        for (int e = 0; e < 4; ++e) {
            const int digit = (int)${cut.digit(t)} - ${half};
% if bytes_:
            packed |= ((unsigned)digit & 255u) << (8 * e);
% else:
            out[${place} * depth_padded + e] = ${"double_from_int(digit)" if word == "float64" else "(float)digit"};
% endif
        }
% if bytes_:
        out[${place} * (depth_padded / 4)] = packed;
% endif
    }
% endfor
</%rows:operand>
