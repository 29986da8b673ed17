## What a matrix unit makes of sums and factors, a product after the other: a block is one warp.
## w: Writer of float64, depth: steps of a sum
<%
    p = w.platform
    unit = p.matrix_units[w.traits.matrix_unit]
    sums = [f"sum[{i}]" for i in range(unit.held)]
    left = [f"a[{e}]" for e in range(unit.left)]
    right = [f"b[{e}]" for e in range(unit.right)]
    (along, step), (row, column), wide = unit.factors, unit.sums, unit.beside
%>
${p.kernel.format(unit.lanes)} ${head()}
{
    const int lane = (int)${p.axis(p.local_id, 0)}, block = (int)${p.axis(p.group_id, 0)};
    ${w.scalar} sum[${len(sums)}], a[${len(left)}], b[${len(right)}];

% for i, one in enumerate(sums):
    ${one} = c0[(block * ${unit.rows} + ${row} + ${i // wide * unit.row_step}) * ${unit.columns} + ${column} + ${i % wide}];
% endfor
    for (int step = 0; step < ${depth}; step += ${unit.steps}) {
% for e, one in enumerate(left):
        ${one} = a0[(block * ${unit.rows} + ${along} + ${e % unit.heights * unit.across}) * ${depth} + step + ${step} + ${e // unit.heights * 4}];
% endfor
% for e, one in enumerate(right):
        ${one} = b0[(block * ${depth} + step + ${step} + ${e * 4}) * ${unit.columns} + ${along}];
% endfor
        ${unit.statement(sums, left, right)}
    }
% for i, one in enumerate(sums):
    c0[(block * ${unit.rows} + ${row} + ${i // wide * unit.row_step}) * ${unit.columns} + ${column} + ${i % wide}] = ${one};
% endfor
}
