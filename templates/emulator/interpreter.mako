## Runs rows of a GPU's instructions: a work-item is a block, its waves take turns between barriers.
## w: Writer; lanes: of a wave; operations: instructions.Operation in the order of their numbers
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/emulator/checking.mako" import="checking"/>
<%namespace file="/emulator/helpers.mako" import="helpers"/>
<%!
    from portmp.emulator.findings import Kind
    TYPES = {"u": "uint", "i": "int", "f": "float", "l": "ulong", "q": "long", "d": "double", "m": "uint"}
    READ = {"u": "WORD(%d)", "i": "(int)WORD(%d)", "f": "as_float(WORD(%d))", "l": "PAIR(%d)",
            "q": "(long)PAIR(%d)", "d": "as_double(PAIR(%d))", "m": "(uint)(MASK(%d) >> lane) & 1u"}
    OLD = {"u": "TARGET[lane]", "i": "(int)TARGET[lane]", "f": "as_float(TARGET[lane])", "d": "as_double(TARGET_PAIR(lane))"}
%>
<%
    wide = lanes == 64
    number = {o.name: i for i, o in enumerate(operations)}
    cases = [(number[o.name], o) for o in operations]
%>
<%def name="fetch(names, kinds)">
% for k, (letter, kind) in enumerate(zip(names, kinds)):
                            const ${TYPES[kind]} ${letter} = ${READ[kind] % k};
% endfor
</%def>
<%def name="previous(o)">
% if "old" in o.text:
                            const ${TYPES[o.result]} old = ${OLD[o.result]};
% endif
</%def>
<%def name="put(o, at)">
% if o.result == "f":
        TARGET[${at}] = as_uint(r);
% elif o.result in "ui":
        TARGET[${at}] = (uint)r;
% else:
        const ulong bits = ${"as_ulong(r)" if o.result == "d" else "(ulong)r"};
        TARGET[${at}] = (uint)bits;
        TARGET[${at} + next_d] = (uint)(bits >> 32);
% endif
</%def>
${arithmetic(w.single, [])}
${arithmetic(w.double, [])}
#define FMA32(a, b, c) (${w.single.fma("(a)", "(b)", "(c)")})
#define FMA64(a, b, c) (${w.double.fma("(a)", "(b)", "(c)")})
${helpers(w)}
#define LANES ${lanes}
#define EXEC 126
#define VCC 106
#define SCC 128
#define OFFSET 0xfffff
#define WORD(k) ((at##k[lane * step##k] & keep##k) ^ flip##k)
#define PAIR(k) ((ulong)((at##k[lane * step##k + next##k] & keep##k) ^ flip##k) << 32 | at##k[lane * step##k])
#define MASK(k) (${"(ulong)at##k[1] << 32 | at##k[0]" if wide else "(ulong)at##k[0]"})
#define TARGET target
#define TARGET_PAIR(i) ((ulong)TARGET[(i) + next_d] << 32 | TARGET[i])
#define EACH for (uint lane = 0; lane < LANES; ++lane) if (active >> lane & 1)
#define FAULT(kind, lane, address) do { fault = (kind); fault_lane = (lane); fault_address = (address); } while (0)

/* what is in the block of numbers that describes a launch */
#define GROUPS_X p[0]
#define GROUPS_Y p[1]
#define GROUPS p[2]
#define THREADS p[3]
#define WAVES p[4]
#define WAVE_WORDS p[5]
#define VECTORS p[6]
#define SCRATCH p[7]
#define SCRATCH_BYTES p[8]
#define SHARED_BYTES p[9]
#define REGIONS p[10]
#define SLOTS p[11]
#define GROUP_REGISTERS p[12]
#define PACKED p[13]
#define DESCENDING p[14]
#define POISON p[15]
#define CONSTANTS p[16]
#define LIMIT p[17]
#define SCALARS p[18]
#define THREADS_X p[19]
#define THREADS_Y p[20]
#define CHECKED p[21]
#define GRAIN p[22]
#define TIME p[23]
#define INITIAL 24
${checking()}

/* the offset in the arena of an address, or all ones: outside of every buffer, or read-only */
static inline ulong place(const ulong address, const uint bytes, const uint write,
    __global const ulong *regions, const uint count, ulong *low, ulong *high, uint *readonly)
{
    if (!(address >= *low && address + bytes <= *high)) {
        uint first = 0, last = count;
        while (first < last) {
            const uint middle = (first + last) / 2;
            if (regions[3 * middle + 1] > address)
                last = middle;
            else
                first = middle + 1;
        }
        if (first == count || address < regions[3 * first] || address + bytes > regions[3 * first + 1])
            return ~0ul;
        *low = regions[3 * first];
        *high = regions[3 * first + 1];
        *readonly = (uint)regions[3 * first + 2];
    }
    return write && *readonly ? ~0ul : address;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void ${name}(
    __global uchar *arena, const ulong base, __global const uint *code, __global const uint *p,
    __global const ulong *regions, __global uint *state, __global uint *shared_memory,
    __global shadow *shadows, __global ulong *reports, const int shift)
{
    const uint slot = (uint)get_global_id(0);
    __global uint *waves = state + (ulong)slot * WAVES * WAVE_WORDS;
    __global uint *shared = shared_memory + (ulong)slot * ((SHARED_BYTES + 3) / 4 + 1);
    __global const uint *initial = p + INITIAL;
    __global const uint *constants = initial + SCALARS;
    __global shadow *units = shadows + (ulong)slot * ((SHARED_BYTES >> GRAIN) + 1);
    __global ulong *report = reports + (ulong)slot * SLOT;
    const uint checked = CHECKED;
    times t;
    t.now = TIME;
    uint fault = 0, fault_lane = 0, readonly = 0;
    ulong fault_address = 0, low = 1, high = 0, count = 0;
    for (uint group = slot; group < GROUPS && !fault; group += SLOTS) {
        const uint ids[3] = {group % GROUPS_X, group / GROUPS_X % GROUPS_Y, group / GROUPS_X / GROUPS_Y};
        for (uint i = 0; i < (SHARED_BYTES + 3) / 4; ++i)
            shared[i] = POISON;
        for (uint wave = 0; wave < WAVES; ++wave) {
            __global uint *R = waves + wave * WAVE_WORDS;
            for (uint i = 0; i < WAVE_WORDS; ++i)
                R[i] = POISON;
            for (uint i = 0; i < SCALARS; ++i)
                R[i] = initial[i];
            for (uint i = 0; i < CONSTANTS; ++i)
                R[SCALARS + i] = constants[i];
            for (uint i = 0; i < 3; ++i) {
                const uint at = GROUP_REGISTERS >> (8 * i) & 255;
                if (at != 255)
                    R[at] = ids[i];
            }
            if (GROUP_REGISTERS >> 24) {
                R[117] = ids[0];
                R[115] = ids[1] | ids[2] << 16;
            }
            for (uint lane = 0; lane < LANES; ++lane) {
                const uint thread = wave * LANES + lane;
                const uint x = thread % THREADS_X, y = thread / THREADS_X % THREADS_Y, z = thread / THREADS_X / THREADS_Y;
                R[VECTORS + lane] = PACKED ? x | y << 10 | z << 20 : x;
                if (!PACKED) {
                    R[VECTORS + LANES + lane] = y;
                    R[VECTORS + 2 * LANES + lane] = z;
                }
            }
            const uint rest = THREADS - wave * LANES;
            const ulong all = rest >= 64 ? ~0ul : (1ul << rest) - 1;
            R[EXEC] = (uint)all;
            R[EXEC + 1] = LANES == 64 ? (uint)(all >> 32) : 0;
            R[129] = 0; /* the next row */
        }
        t.block = t.now + 1;
        for (uint living = WAVES; living && !fault;) {
            t.part = t.now + 1;
            /* between two barriers the waves run one after the other */
            for (uint turn = 0; turn < WAVES && !fault; ++turn) {
                const uint wave = DESCENDING ? WAVES - 1 - turn : turn;
                __global uint *R = waves + wave * WAVE_WORDS;
                uint row = R[129];
                if (row == ~0u)
                    continue;
                t.turn = ++t.now;
                for (uint running = 1; running && !fault;) {
                    __global const uint *I = code + 8 * row;
                    const uint head = I[0];
                    const ulong exec = ${"(ulong)R[EXEC + 1] << 32 | R[EXEC]" if wide else "R[EXEC]"};
                    const ulong active = head >> 31 ? ~0ul >> (64 - LANES) : exec;
% for k, word in ((0, 3), (1, 4), (2, 5), (3, 7)):
                    const uint w${k} = I[${word}];
                    __global const uint *at${k} = R + (w${k} & OFFSET);
                    const uint step${k} = w${k} >> 20 & 1;
                    const uint next${k} = step${k} ? LANES : 1;
                    const uint flip${k} = (w${k} >> 21 & 1) << 31;
                    const uint keep${k} = ~((w${k} >> 22 & 1) << 31);
% endfor
                    __global uint *target = R + (I[1] & OFFSET);
                    const uint step_d = I[1] >> 20 & 1;
                    const uint next_d = step_d ? LANES : 1;
                    __global uint *second = R + (I[2] & OFFSET);
                    const uint immediate = I[6];
                    ++row;
                    ++count;
                    switch (head & 0xffff) {
% for i, o in cases:
% if o.kind == "vector":
                    case ${i}: /* ${o.name} */
                        EACH {
${fetch("abcm", o.sources)}
${previous(o)}
                            const ${TYPES[o.result]} r = ${o.text};
${put(o, "lane * step_d")}
                        }
                        break;
% elif o.kind == "carry":
                    case ${i}: { /* ${o.name} */
                        ulong bits_of_lanes = 0;
                        EACH {
${fetch("abcm", o.sources)}
                            const ${TYPES[o.result]} r = ${o.text};
                            bits_of_lanes |= (ulong)((${o.condition}) != 0) << lane;
${put(o, "lane * step_d")}
                        }
                        second[0] = (uint)bits_of_lanes;
% if wide:
                        second[1] = (uint)(bits_of_lanes >> 32);
% endif
                        break;
                    }
% elif o.kind == "compare":
                    case ${i}: { /* ${o.name} */
                        ulong bits_of_lanes = 0;
                        EACH {
${fetch("ab", o.sources)}
                            bits_of_lanes |= (ulong)((${o.text}) != 0) << lane;
                        }
                        target[0] = (uint)bits_of_lanes;
% if wide:
                        target[1] = (uint)(bits_of_lanes >> 32);
% endif
                        break;
                    }
% elif o.kind == "scalar":
                    case ${i}: { /* ${o.name} */
                        const uint lane = 0;
                        const uint scc = R[SCC];
${fetch("abc", o.sources)}
${previous(o)}
% if o.result:
                        const ${TYPES[o.result]} r = ${o.text};
${put(o, "lane")}
% endif
% if o.condition:
                        R[SCC] = (${o.condition}) != 0;
% endif
                        break;
                    }
% endif
% endfor
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
                    case ${number["s_endpgm"]}:
                        row = ~0u;
                        --living;
                        running = 0;
                        break;
                    case ${number["s_barrier"]}:
                        running = 0;
                        break;
                    case ${number["block_mark"]}: /* the barrier of a block of one wave: of others it is s_barrier */
                        ++t.now;
                        if (checked && WAVES == 1)
                            check_mark(report, exec, THREADS, row - 1, group);
                        break;
                    case ${number["warp_mark"]}:
                        ++t.now;
                        if (checked)
                            check_warps(report, exec, THREADS, wave, row - 1, group);
                        break;
                    case ${number["s_branch"]}:
                        row = immediate;
                        break;
% for flag, condition in (("scc0", "!R[SCC]"), ("scc1", "R[SCC]"), ("execz", "!exec"), ("execnz", "exec"), ("vccz", "!vcc"), ("vccnz", "vcc")):
                    case ${number["s_cbranch_" + flag]}: {
% if flag.startswith("vcc"):
                        const ulong vcc = ${"(ulong)R[VCC + 1] << 32 | R[VCC]" if wide else "R[VCC]"};
% endif
                        if (${condition})
                            row = immediate;
                        break;
                    }
% endfor
                    case ${number["s_load"]}: { /* from two words and an offset, I[2] bytes */
                        const ulong address = (((ulong)at0[1] << 32 | at0[0]) + at1[0] + (long)(int)immediate) & ~3ul;
                        if (place(address, I[2], 0, regions, REGIONS, &low, &high, &readonly) == ~0ul) {
                            FAULT(1, 0, address);
                            break;
                        }
                        for (uint i = 0; i < I[2] / 4; ++i)
                            target[i] = *(__global const uint *)(arena + (address - base) + 4 * i);
                        break;
                    }
% for way in ("load", "store"):
                    case ${number["global_" + way]}:
                        /* address in a lane's two words, or (bit 30) a lane's word beside two scalars; I[2] bytes */
                        EACH {
                            const ulong own = head >> 30 & 1 ? at0[lane * step0] : (ulong)at0[lane * step0 + next0] << 32 | at0[lane * step0];
                            const ulong address = own + ((ulong)at1[1] << 32 | at1[0]) + (long)(int)immediate;
                            if (place(address, I[2], ${int(way == "store")}, regions, REGIONS, &low, &high, &readonly) == ~0ul) {
                                FAULT(${1 + (way == "store")}, lane, address);
                                break;
                            }
                            __global uchar *memory = arena + (address - base);
                            if (I[2] == 1) {
${"target[lane] = memory[0];" if way == "load" else "memory[0] = (uchar)at2[lane * step2];"}
                            } else if (address & (I[2] == 2 ? 1 : 3)) {
                                FAULT(5, lane, address);
                                break;
                            } else if (I[2] == 2) {
${"target[lane] = *(__global const ushort *)memory;" if way == "load" else "*(__global ushort *)memory = (ushort)at2[lane * step2];"}
                            } else {
                                for (uint i = 0; i < I[2] / 4; ++i)
${"target[lane + LANES * i] = ((__global const uint *)memory)[i];" if way == "load" else "((__global uint *)memory)[i] = at2[lane * step2 + next2 * i];"}
                            }
                        }
                        break;
                    case ${number["shared_" + way]}: /* address in a lane's word, I[2] bytes */
                        EACH {
                            const uint address = at0[lane * step0] + immediate;
                            /* the sum wraps around: a base may be negative */
                            if ((ulong)address + I[2] > SHARED_BYTES) {
                                FAULT(3, lane, address);
                                break;
                            }
                            if (address & 3) {
                                FAULT(5, lane, address);
                                break;
                            }
                            ${"CHECK_READ" if way == "load" else "CHECK_WRITTEN"}(address, I[2]);
                            for (uint i = 0; i < I[2] / 4; ++i)
${"target[lane + LANES * i] = shared[address / 4 + i];" if way == "load" else "shared[address / 4 + i] = at2[lane * step2 + next2 * i];"}
                        }
                        break;
                    case ${number["scratch_" + way]}: /* a lane's own memory: two words and an offset, I[2] bytes */
                        EACH {
                            const uint address = at0[lane * step0] + at1[0] + immediate;
                            if ((ulong)address + I[2] > SCRATCH_BYTES || (address & 3)) {
                                FAULT(4, lane, address);
                                break;
                            }
                            for (uint i = 0; i < I[2] / 4; ++i)
${"target[lane + LANES * i] = R[SCRATCH + (address / 4 + i) * LANES + lane];" if way == "load" else "R[SCRATCH + (address / 4 + i) * LANES + lane] = at2[lane * step2 + next2 * i];"}
                        }
                        break;
% endfor
                    default:
                        FAULT(7, 0, head);
                    }
                    if (count > (ulong)LIMIT << 20)
                        FAULT(6, 0, 0);
                    if (fault)
                        note(report, fault, row - 1, wave * LANES + fault_lane, fault_address, group, 0, 0);
                }
                R[129] = row;
            }
            if (checked && living && !fault)
                check_barrier(report, waves, WAVES, WAVE_WORDS, THREADS, group);
        }
    }
    report[0] = count;
    report[1] = t.now;
}
