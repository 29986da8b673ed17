## What every product ends with: z -> alpha z + beta c, special values, store.

<%def name="zero(w, words, type)">
${w.literal(0) if words == 1 else "make_" + type + "(" + ", ".join([w.literal(0)] * words) + ")"}\
</%def>

<%def name="scaled(w, networks, z, c)">
## z: variable that holds the product; c: expression of the value to add (read only if beta != 0)
    if (k == 0)
        ${z} = ${zero(w, w.format.limbs, w.value)};
    else if (!alpha_is_one)
        ${z} = ${w.function(networks["mul"])}(${w.pack(w.splat(f"alpha{i}") for i in w.limbs)}, ${z});
    if (beta_kind != 0) {
        ${w.value} addend = ${c};
        if (beta_kind == 2)
            addend = ${w.function(networks["mul"])}(${w.pack(w.splat(f"beta{i}") for i in w.limbs)}, addend);
        ${z} = k == 0 ? addend : ${w.function(networks["add"])}(${z}, addend);
    }
</%def>
