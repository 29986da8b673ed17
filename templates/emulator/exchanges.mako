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
#if LANES == 64
                    /* D = A B + C of 16 x 4 and 4 x 16 numbers, for all lanes: EXEC means nothing. A[i][k] and
                       B[k][j] are in lanes 16 k + i and 16 k + j, C[i][j] in lane 16 (i % 4) + j, registers i / 4 */
                    case ${number["v_mfma_f64_16x16x4f64"]}:
                    case ${number["unfused_v_mfma_f64_16x16x4f64"]}: {
                        const uint pairs = (head & 0xffff) == ${number["unfused_v_mfma_f64_16x16x4f64"]};
                        double a[64], b[64], sums[4][64];
                        for (uint lane = 0; lane < 64; ++lane) {
                            a[lane] = as_double(PAIR(0));
                            b[lane] = as_double(PAIR(1));
                        }
                        for (uint r = 0; r < 4; ++r)
                            for (uint lane = 0; lane < 64; ++lane) {
                                __global const uint *c = at2 + (lane + 128 * r) * step2;
                                const uint i = lane / 16 + 4 * r, j = lane % 16;
                                double sum = as_double((ulong)c[next2] << 32 | c[0]);
                                for (uint k = 0; k < 4 && !pairs; ++k)
                                    sum = FMA64(a[16 * k + i], b[16 * k + j], sum);
                                for (uint k = 0; k < 4 && pairs; k += 2)
                                    sum += FMA64(a[16 * k + i], b[16 * k + j], a[16 * k + 16 + i] * b[16 * k + 16 + j]);
                                sums[r][lane] = sum;
                            }
                        for (uint r = 0; r < 4; ++r)
                            for (uint lane = 0; lane < 64; ++lane) {
                                const ulong bits = as_ulong(sums[r][lane]);
                                target[lane + 128 * r] = (uint)bits;
                                target[lane + 128 * r + 64] = (uint)(bits >> 32);
                            }
                        break;
                    }
#endif
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
