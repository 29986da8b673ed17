## Digits of integers from what moduli make of them in places of PLACE bits, float64 words each.
<%!
    from portmp.routines.ozaki.systems import PLACE
%>
<%def name="digits(w, whole, place, digit, total, count)">
## w: Writer of the words; texts: *whole*: which multiple of the product of all moduli, *total* in places, is
## taken away, before rounding; *place* and *digit*: of a number, places and the *count* digits they become. x and y are written over.
<%
    rounding, base = w.literal(6755399441055744.0), 2.0 ** PLACE  ## 1.5 2^52: a sum with it is rounded to an integer

    def floored(x, more):
        """The integer nearest to (x + more) 2^-PLACE: the half in *more* leaves no ties."""
        return f"{w.fma(f'({x} + ({w.literal(more)}))', w.literal(1 / base), rounding)} - {rounding}"
%>
            /* digits from -2^39 to 2^39 - 1: of the integer, whatever the moduli */
            y = (${whole} + ${rounding}) - ${rounding};
% for t in range(len(total)):
            ${place(t)} = ${w.fma("-y", w.literal(total[t]), place(t))};
% endfor
% for t in range(count):
% if 2 * t + 1 < len(total):
            x = ${floored(place(2 * t), 0.5 - base / 2)};
            ${place(2 * t)} = ${w.fma("-x", w.literal(base), place(2 * t))};
            ${place(2 * t + 1)} = ${place(2 * t + 1)} + x;
% endif
% if t < count - 1 or 2 * t + 2 < len(total):
            x = ${floored(place(2 * t + 1), 0.5)};
            ${place(2 * t + 1)} = ${w.fma("-x", w.literal(base), place(2 * t + 1))};
            ${place(2 * t + 2)} = ${place(2 * t + 2)} + x;
% endif
% if 2 * t + 1 < len(total):
            ${digit(t)} = ${w.fma(place(2 * t + 1), w.literal(base), place(2 * t))};
% if t == count - 1 and 2 * t + 2 < len(total):
            ## Moduli may have more places than the integer.
            ${digit(t)} = ${w.fma(place(2 * t + 2), w.literal(base * base), digit(t))};
% endif
% else:
            ${digit(t)} = ${place(2 * t)};
% endif
% endfor
</%def>
