## QD's ieee_add: merges the eight limbs by magnitude. Scalar; its Python twin is in portmp.networks.evaluator.
<%page args="w, net"/>
/* Hida, Li and Bailey 2001, accurate addition: merge by decreasing magnitude, accumulate in two words */
${w.platform.function + " " + w.value + " " + w.function("add4_2011") + "(const " + w.value + " x, const " + w.value + " y)"}
{
    const ${w.word} a[4] = {x.x0, x.x1, x.x2, x.x3};
    const ${w.word} b[4] = {y.x0, y.x1, y.x2, y.x3};
    ${w.word} z[4] = {0, 0, 0, 0};
    ${w.word} u, v, s;
    int i = 0, j = 0, k = 0;

    u = ${w.fabs("a[0]")} > ${w.fabs("b[0]")} ? a[i++] : b[j++];
    v = ${w.fabs("a[i]")} > ${w.fabs("b[j]")} ? a[i++] : b[j++];
    u = ${w.gate("fast_two_sum")}(u, v, &v);
    while (k < 4) {
        ${w.word} t, p, q;
        if (i >= 4 && j >= 4) {
            z[k] = u;
            if (k < 3)
                z[++k] = v;
            break;
        }
        if (i >= 4)
            t = b[j++];
        else if (j >= 4)
            t = a[i++];
        else
            t = ${w.fabs("a[i]")} > ${w.fabs("b[j]")} ? a[i++] : b[j++];
        s = ${w.gate("two_sum")}(v, t, &q);
        s = ${w.gate("two_sum")}(u, s, &p);
        if (p != 0 && q != 0) {
            u = p;
            v = q;
        } else {
            v = q != 0 ? q : p;
            u = s;
            s = 0;
        }
        if (s != 0)
            z[k++] = s;
    }
    for (k = i; k < 4; ++k)
        z[3] += a[k];
    for (k = j; k < 4; ++k)
        z[3] += b[k];
    return ${w.function("renorm4_2011")}(make_${w.value}(z[0], z[1], z[2], z[3]));
}
