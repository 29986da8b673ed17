## What every product ends with: z -> alpha z + beta c.

<%def name="scaled(w, networks, z, c, pad)">
## z: variable that holds the product; c: expression of the addend (read only if beta is not 0)
<% mul, add = w.function(networks["mul"]), w.function(networks["add"]) %>
<% alpha, beta = (w.pack(w.splat(f"{name}{i}") for i in w.limbs) for name in ("alpha", "beta")) %>
${pad}if (k == 0)
${pad}    ${z} = ${w.zero()};
${pad}else if (!alpha_is_one)
${pad}    ${z} = ${mul}(${alpha}, ${z});
${pad}if (beta_kind != 0) {
${pad}    ${w.value} addend = ${c};
${pad}    if (beta_kind == 2)
${pad}        addend = ${mul}(${beta}, addend);
${pad}    ${z} = k == 0 ? addend : ${add}(${z}, addend);
${pad}}
</%def>
