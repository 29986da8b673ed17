## Runs rows of a GPU's instructions: a work-item is a block, its waves take turns between barriers.
## w: Writer; lanes: of a wave; operations: instructions.Operation, atomics: atomics.Atomic, ways: of
## lanes to others, each in the order of their numbers; apertures: of block memory and a lane's own;
## registers: of lanes that an index may reach
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/emulator/checking.mako" import="checking"/>
<%namespace file="/emulator/helpers.mako" import="helpers"/>
<%namespace name="memory" file="/emulator/memory.mako"/>
<%namespace name="exchange" file="/emulator/exchanges.mako"/>
<%!
    TYPES = {"u": "uint", "i": "int", "f": "float", "l": "ulong", "q": "long", "d": "double", "m": "uint"}
    READ = {"u": "WORD(%d)", "i": "(int)WORD(%d)", "f": "as_float(WORD(%d))", "l": "PAIR(%d)",
            "q": "(long)PAIR(%d)", "d": "as_double(PAIR(%d))", "m": "(uint)(MASK(%d) >> lane) & 1u"}
    OLD = {"u": "TARGET[lane]", "i": "(int)TARGET[lane]", "f": "as_float(TARGET[lane])",
           "l": "TARGET_PAIR(lane)", "d": "as_double(TARGET_PAIR(lane))"}
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
% if w.traits.wide_atomics:
% for line in w.platform.wide_atomics:
${line}
% endfor
% endif
${arithmetic(w.single, [])}
${arithmetic(w.double, [])}
#define FMA32(a, b, c) (${w.single.fma("(a)", "(b)", "(c)")})
#define FMA64(a, b, c) (${w.double.fma("(a)", "(b)", "(c)")})
${helpers(w)}
#define LANES ${lanes}
#define VECTOR_REGISTERS ${registers}
#define SHARED_APERTURE ${apertures[0]}
#define PRIVATE_APERTURE ${apertures[1]}
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
#define SCRATCH_AT p[7]
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
#define IEEE p[21]
#define CHECKED p[22]
#define TIME p[23]
#define INITIAL 24
${checking()}

${memory.functions(atomics, w.traits.wide_atomics)}
${exchange.functions(ways)}
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void ${name}(
    __global uchar *arena, __global uchar *known, __global const uint *code, __global const uint *p,
    __global const ulong *regions, __global uint *state, __global uint *shared_memory,
    __global shadow *shadows, __global ulong *reports, const int shift)
{
    const uint slot = (uint)get_global_id(0);
    __global uint *waves = state + (ulong)slot * WAVES * WAVE_WORDS;
    __global uint *shared = shared_memory + (ulong)slot * ((SHARED_BYTES + 3) / 4 + 1);
    __global const uint *initial = p + INITIAL;
    __global const uint *constants = initial + SCALARS;
    __global shadow *units = shadows + (ulong)slot * 4 * (SHARED_BYTES / 4 + 1);
    __global ulong *report = reports + (ulong)slot * SLOT;
    const uint checked = CHECKED;
    uint bytewise = 0;
    times t;
    t.now = TIME;
    const int ieee = (int)IEEE;
    uint fault = 0, fault_lane = 0, last = 0;
    ulong fault_address = 0, count = 0;
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
${exchange.exchanges(number)}
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
                        __global const uchar *memory = owned(arena, address, I[2], 0, regions, REGIONS, &last);
                        if (!memory) {
                            FAULT(1, 0, address);
                            break;
                        }
                        const uint lane = 0;
                        KNOW(LOAD, memory - arena, I[2]);
                        for (uint i = 0; i < I[2] / 4; ++i)
                            target[i] = ((__global const uint *)memory)[i];
                        break;
                    }
${memory.accesses(number)}
                    case ${number["scratch_descriptor"]}:
                        if (at0[0] != at1[0] || at0[1] != at1[1] || at0[2] != at2[0] || at0[3] != at2[1])
                            FAULT(10, 0, 0);
                        break;
                    case ${number["s_setpc_b64"]}: { /* an address, where the code begins, its words */
                        const ulong address = (ulong)at0[1] << 32 | at0[0];
                        const ulong word = (address - ((ulong)at1[1] << 32 | at1[0])) / 4;
                        const uint to = address & 3 || word >= w2 ? ~0u : code[immediate + word];
                        if (to == ~0u)
                            FAULT(8, 0, address);
                        else
                            row = to;
                        break;
                    }
                    case ${number["s_clock"]}: { /* a clock counts rows */
                        const uint size = immediate >> 8;
                        target[0] = (uint)(count >> (immediate & 255)) & (size >= 32 ? ~0u : (1u << size) - 1);
                        if (size > 32)
                            target[1] = (uint)(count >> 32);
                        break;
                    }
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
