## What counts of the entries of two matrices x, A or B, in norms of spans. multiples: of A's and of B's limbs
<%!
    def counted(multiples):
        """Which limbs count: the first, or those with a multiple."""
        return [i for i, by in enumerate(multiples[0]) if by] or [0]
%>

## The planes of the matrix that a block reads, and its multiples. v: scalar Writer
<%def name="chosen(v, multiples)">\
% for i in counted(multiples):
    ${v.platform.const_pointer.format(v.scalar)}x${i} = of_a ? a${i} : b${i};
% if multiples[0]:
    const ${v.scalar} of${i} = of_a ? ${v.literal(multiples[0][i])} : ${v.literal(multiples[1][i])};
% endif
% endfor
</%def>

## The size of an entry: limbs are multiplied and added in ascending order. w: Writer, fma: its network
<%def name="size(w, fma, multiples, index)">\
<%
    found = ""
    for i in counted(multiples):
        limb, by = w.fabs(w.load_vector("x", i, index)), w.splat(f"of{i}")
        if found:
            found = f"{w.function(fma)}({limb}, {by}, {found})"
        else:
            found = f"{limb} * {by}" if multiples[0] else limb
%>\
${found}\
</%def>
