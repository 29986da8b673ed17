## Accesses of lanes to memory: one way to find the bytes in each memory, one to read and write them.
## Of a row: I[2] the bytes, at0 an address, at1 what is added to it, at2 what is stored.
<%!
    SPACES = ("global", "shared", "scratch", "flat")
    WAYS = {"global": ("load", "store", "atomic"), "shared": ("load", "store", "atomic"),
            "scratch": ("load", "store"), "flat": ("load", "store", "atomic")}
    VALUES = {"u": "uint", "i": "int", "f": "float", "l": "ulong", "q": "long", "d": "double"}
    READ = {"f": "as_float(%s)", "d": "as_double(%s)"}
    BITS = {"f": "as_uint(%s)", "d": "as_ulong(%s)"}
%>
## Where the bytes at an address are: sets memory, and step, the words from one word to the next.
<%def name="in_global(way)">\
if (!owned(address, nbytes, ${int(way != "load")}, regions, REGIONS, &low, &high, &readonly)) {
                                FAULT(${1 + (way != "load")}, lane, address);
                                break;
                            }
                            memory = arena + (address - base);
</%def>
<%def name="in_shared(way)">\
if (address + nbytes > SHARED_BYTES) {
                                FAULT(3, lane, address);
                                break;
                            }
                            memory = (__global uchar *)shared + address;
                            CHECK_${way.upper()}(address, nbytes);
</%def>
<%def name="in_scratch(way)">\
if (address + nbytes > SCRATCH_BYTES) {
                                FAULT(4, lane, address);
                                break;
                            }
                            memory = (__global uchar *)(R + SCRATCH + (address / 4) * LANES + lane) + (address & 3);
                            step = LANES;
</%def>
<%def name="in_flat(way)">\
const uint aperture = (uint)(flat >> 32);
                            const ulong address = aperture == SHARED_APERTURE || aperture == PRIVATE_APERTURE ? (uint)flat : flat;
                            if (aperture == SHARED_APERTURE) {
                                ${in_shared(way)}
                            } else if (aperture == PRIVATE_APERTURE) {
% if way == "atomic":
                                FAULT(9, lane, address);
                                break;
% else:
                                ${in_scratch(way)}
% endif
                            } else {
                                ${in_global(way)}
                            }
</%def>
<%def name="located(space, way)">\
% if space == "global":
                            const ulong own = head >> 30 & 1 ? at0[lane * step0] : (ulong)at0[lane * step0 + next0] << 32 | at0[lane * step0];
                            const ulong address = own + ((ulong)at1[1] << 32 | at1[0]) + (long)(int)immediate;
                            ${in_global(way)}
% elif space == "shared":
                            /* the sum wraps around: a base may be negative */
                            const ulong address = at0[lane * step0] + immediate;
                            ${in_shared(way)}
% elif space == "scratch":
                            const ulong address = at0[lane * step0] + at1[0] + immediate;
                            ${in_scratch(way)}
% else:
                            const ulong flat = ((ulong)at0[lane * step0 + next0] << 32 | at0[lane * step0]) + (long)(int)immediate;
                            ${in_flat(way)}
% endif
                            if (address & ${"(nbytes - 1)" if way == "atomic" else "(nbytes > 2 ? 3 : nbytes - 1)"}) {
                                FAULT(5, lane, address);
                                break;
                            }
</%def>
<%def name="load()">\
if (nbytes == 1) {
                                target[lane] = memory[0];
                            } else if (nbytes == 2) {
                                target[lane] = *(__global const ushort *)memory;
                            } else {
                                for (uint i = 0; i < nbytes / 4; ++i)
                                    target[lane + LANES * i] = ((__global const uint *)memory)[i * step];
                            }
</%def>
<%def name="store()">\
if (nbytes == 1) {
                                memory[0] = (uchar)at2[lane * step2];
                            } else if (nbytes == 2) {
                                *(__global ushort *)memory = (ushort)at2[lane * step2];
                            } else {
                                for (uint i = 0; i < nbytes / 4; ++i)
                                    ((__global uint *)memory)[i * step] = at2[lane * step2 + next2 * i];
                            }
</%def>
<%def name="atomic()">\
const uint operation = head >> 16 & 255;
                            if (nbytes == 4) {
                                target[lane * step_d] = atomic32((__global uint *)memory, operation, at2[lane * step2], at3[lane * step3]);
                            } else {
                                const ulong a = (ulong)at2[lane * step2 + next2] << 32 | at2[lane * step2];
                                const ulong b = (ulong)at3[lane * step3 + next3] << 32 | at3[lane * step3];
                                const ulong was = atomic64((__global ulong *)memory, operation, a, b);
                                target[lane * step_d] = (uint)was;
                                target[lane * step_d + next_d] = (uint)(was >> 32);
                            }
</%def>
## The cases of all accesses; number: of operations by name
<%def name="accesses(number)">
% for space in SPACES:
% for way in WAYS[space]:
                    case ${number[f"{space}_{way}"]}:
                        EACH {
                            const uint nbytes = I[2];
                            __global uchar *memory;
                            uint step = 1;
${located(space, way)}
${load() if way == "load" else store() if way == "store" else atomic()}
                        }
                        break;
% endfor
% endfor
</%def>
## What memory is made of, and what atomic operations store; atomics: atomics.Atomic in the order of
## their numbers; wide: whether the device has atomic operations on 64 bits
<%def name="functions(atomics, wide)">
/* whether one buffer, which is not for reading only where it is written, has these bytes */
static inline int owned(const ulong address, const uint bytes, const uint write,
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
            return 0;
        *low = regions[3 * first];
        *high = regions[3 * first + 1];
        *readonly = (uint)regions[3 * first + 2];
    }
    return !(write && *readonly);
}

% for bits, word, exchange in ((32, "uint", "atomic_cmpxchg"), (64, "ulong", "atom_cmpxchg")):
/* what an atomic operation stores */
static inline ${word} combined${bits}(const uint operation, const ${word} held, const ${word} x, const ${word} y)
{
    switch (operation) {
% for i, one in enumerate(atomics):
% if one.nbytes * 8 == bits:
    case ${i}: { /* ${one.name} */
        const ${VALUES[one.kind]} old = ${READ.get(one.kind, "%s") % "held"}, a = ${READ.get(one.kind, "%s") % "x"}, b = ${READ.get(one.kind, "%s") % "y"};
        (void)old, (void)a, (void)b;
        const ${VALUES[one.kind]} r = ${one.text};
        return ${BITS.get(one.kind, "(" + word + ")%s") % "r"};
    }
% endif
% endfor
    default:
        return held;
    }
}

/* the number before; blocks run at the same time, so another one's write in between is seen */
static inline ${word} atomic${bits}(volatile __global ${word} *at, const uint operation, const ${word} x, const ${word} y)
{
    ${word} held = *at;
% if bits == 32 or wide:
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    for (;;) {
        const ${word} seen = ${exchange}(at, held, combined${bits}(operation, held, x, y));
        if (seen == held)
            break;
        held = seen;
    }
    mem_fence(CLK_GLOBAL_MEM_FENCE);
% else: # blocks then run one after the other
    *at = combined${bits}(operation, held, x, y);
% endif
    return held;
}

% endfor
</%def>
