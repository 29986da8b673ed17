## Words that lanes read of one another, and registers that are chosen by a number.
<%!
    from portmp.emulator.findings import Kind
%>
## Which lane another one reads; ways: expressions of lane and n, in the order of their numbers
<%def name="functions(ways)">
#define NONE 0xffffffffu

static inline uint source_lane(const uint way, const uint n, const uint lane)
{
    switch (way) {
% for i, (name, text) in enumerate(ways):
    case ${i}: /* ${name} */
        return ${text};
% endfor
    default:
        return NONE;
    }
}
</%def>
## The cases of all exchanges; number: of operations by name
<%def name="exchanges(number)">
                    case ${number["v_readfirstlane_b32"]}: {
                        const uint lane = exec ? popcount((exec & -exec) - 1) : 0;
                        target[0] = WORD(0);
                        break;
                    }
                    case ${number["v_readlane_b32"]}: {
                        const uint lane = at1[0] & (LANES - 1);
                        target[0] = WORD(0);
                        break;
                    }
                    case ${number["v_writelane_b32"]}:
                        target[at1[0] & (LANES - 1)] = at0[0];
                        break;
                    case ${number["ds_bpermute_b32"]}: {
                        uint given[LANES];
                        for (uint lane = 0; lane < LANES; ++lane)
                            given[lane] = active >> lane & 1 ? WORD(1) : 0;
                        EACH {
                            const uint from = (WORD(0) + immediate) / 4 & (LANES - 1);
                            if (checked && !(active >> from & 1))
                                note(report, ${Kind.ABSENT_LANE}, row - 1, wave * LANES + lane, 0, group, 0, wave * LANES + from);
                            target[lane * step_d] = given[from];
                        }
                        break;
                    }
                    case ${number["ds_permute_b32"]}: { /* of lanes that give to the same one, the last */
                        uint given[LANES];
                        for (uint lane = 0; lane < LANES; ++lane)
                            given[lane] = 0;
                        EACH given[(WORD(0) + immediate) / 4 & (LANES - 1)] = WORD(1);
                        EACH target[lane * step_d] = given[lane];
                        break;
                    }
                    /* a register of lanes, from at0 or target on, by the number in at1 (a byte with bit 0 of immediate) */
                    case ${number["register_read"]}:
                    case ${number["register_write"]}: {
                        const uint reads = (head & 0xffff) == ${number["register_read"]};
                        const uint index = immediate & 1 ? at1[0] & 255 : at1[0];
                        const uint first = ((reads ? w0 : I[1]) & OFFSET) - VECTORS;
                        if ((ulong)first / LANES + index >= VECTOR_REGISTERS) {
                            FAULT(${Kind.REGISTER}, 0, (ulong)first / LANES + index);
                            break;
                        }
                        EACH {
                            if (reads)
                                target[lane] = at0[lane + LANES * index];
                            else
                                target[lane + LANES * index] = WORD(0);
                        }
                        break;
                    }
                    case ${number["lane_move"]}: /* which lanes are written goes to the second target */
                    case ${number["lane_choice"]}: {
                        const uint moves = (head & 0xffff) == ${number["lane_move"]};
                        const uint fetched = moves ? immediate >> 9 & 1 : immediate >> 1 & 1;
                        const uint bound = moves ? immediate >> 8 & 1 : immediate >> 2 & 1;
                        uint given[LANES];
                        ulong written = 0;
                        EACH {
                            uint from;
                            if (moves) {
                                if (!(immediate >> (16 + lane / 16) & 1) || !(immediate >> (20 + lane / 4 % 4) & 1))
                                    continue;
                                from = source_lane(immediate & 255, w1, lane);
                            } else { /* four bits for each lane of a row; bit 0: of the row beside it */
                                const ulong choice = (ulong)at2[0] << 32 | at1[0];
                                from = ((lane & ~15u) ^ (immediate & 1) << 4) + (uint)(choice >> 4 * (lane & 15) & 15);
                            }
                            const uint valid = from < LANES && (fetched || (active >> from & 1));
                            given[lane] = valid ? at0[from * step0] : 0;
                            written |= (ulong)(valid || bound) << lane;
                        }
                        for (uint lane = 0; lane < LANES; ++lane)
                            if (written >> lane & 1)
                                target[lane * step_d] = given[lane];
                        if (moves) {
                            second[0] = (uint)written;
                            second[1] = (uint)(written >> 32);
                        }
                        break;
                    }
</%def>
