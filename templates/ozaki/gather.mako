## Values from sums of digits' products: antidiagonals, the one of the least weight first.
## w: Writer, slices: how many digits and how wide, word: what they were multiplied as.
<%namespace name="sums" file="/ozaki/result.mako"/>
<%
    p, long = w.platform, w.platform.index
    kind = {"int8": "int", "float32": "float", "float64": "double"}[word]
    width, half = slices.width, 1 << (slices.width - 1)
    last = slices.digits - 1
    weight = slices.shift - 2 * slices.bits
%>
<%sums:result count="${slices.digits}" base="${slices.base}" weight="${weight}">
        ${p.const_pointer.format(kind)}found = products + row * row_stride + first;
        ${long} carry = 0, high, digit, sum;
% for t in range(slices.digits):
        sum = 0;
% for i in range(1 if t == last else slices.gathered):
<% j = t * slices.gathered + i %>
        high = 0;
% if j < slices.count:
        /* digits of A and B whose places add up to ${slices.count - 1 - j} */
        for (${long} at = 0; at < ${slices.count - j} * depth; at += length) {
            const ${long} one = (${long})*found;
            carry += one & ${2 * half - 1};
            high += one >> ${width};
            found += stride;
        }
% endif
% if t < last:
        digit = ((carry + ${half}) & ${2 * half - 1}) - ${half};
        carry = high + ((carry - digit) >> ${width});
        sum += digit * ${1 << (width * i)};
% endif
% endfor
% if t < last:
        /* from -2^${slices.base - 1} to 2^${slices.base - 1} - 1 */
        digit = (sum + ${1 << (slices.base - 1)}) >> ${slices.base};
        s${t}[0] = (double)(sum - (digit << ${slices.base}));
        carry += digit;
% else:
        s${t}[0] = (double)(carry + (high << ${width}));
% endif
% endfor
</%sums:result>
