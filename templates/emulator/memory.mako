## Accesses of lanes to memory: each is found in one of three memories, then read, written or both.
<%!
    from portmp.emulator.instructions import SPACES, WAYS
    VALUES = {"u": "uint", "i": "int", "f": "float", "l": "ulong", "q": "long", "d": "double"}
    READ = {"f": "as_float(%s)", "d": "as_double(%s)"}
    BITS = {"f": "as_uint(%s)", "d": "as_ulong(%s)"}
%>
## Of a row: I[2] the bytes, at0 an address, at1 what is added to it, at2 (and at3) what is stored.
## number: of operations by name
<%def name="accesses(number)">
% for name in number:
% if name.partition("_")[0] in SPACES and name.partition("_")[2] in WAYS:
                    case ${number[name]}: /* ${name} */
% endif
% endfor
                    {
                        const uint which = (head & 0xffff) - ${number["global_load"]}, way = which % 3, nbytes = I[2];
                        EACH {
                            uint space = which / 3;
                            ulong address;
                            if (space == GLOBAL || space == FLAT) {
                                /* in a lane's two words, or (bit 30) a lane's word; beside two scalars */
                                const ulong own = head >> 30 & 1 ? at0[lane * step0] : (ulong)at0[lane * step0 + next0] << 32 | at0[lane * step0];
                                address = own + ((ulong)at1[1] << 32 | at1[0]) + (long)(int)immediate;
                            } else {
                                /* the sum wraps around: a base may be negative */
                                address = at0[lane * step0] + at1[0] + immediate;
                            }
                            if (space == FLAT) {
                                const uint aperture = (uint)(address >> 32);
                                space = aperture == SHARED_APERTURE ? SHARED : aperture == PRIVATE_APERTURE ? SCRATCH : GLOBAL;
                                if (space != GLOBAL)
                                    address = (uint)address;
                            }
                            __global uchar *memory = 0;
                            uint step = 1; /* from word to word */
                            if (space == GLOBAL) {
                                memory = owned(arena, address, nbytes, way != LOAD, regions, REGIONS, &last);
                                if (!memory)
                                    fault = way == LOAD ? 1 : 2;
                                else
                                    KNOW(way, memory - arena, nbytes);
                            } else if (space == SHARED) {
                                if (address + nbytes > SHARED_BYTES) {
                                    fault = 3;
                                } else {
                                    memory = (__global uchar *)shared + address;
                                    if (way == LOAD)
                                        CHECK_LOAD(address, nbytes);
                                    else if (way == STORE)
                                        CHECK_STORE(address, nbytes);
                                    else
                                        CHECK_ATOMIC(address, nbytes);
                                }
                            } else if (way == ATOMIC) {
                                fault = 9;
                            } else if (address + nbytes > SCRATCH_BYTES) {
                                fault = 4;
                            } else {
                                memory = (__global uchar *)(R + SCRATCH_AT + address / 4 * LANES + lane) + (address & 3);
                                step = LANES;
                            }
                            if (way == ATOMIC && !fault && (address & (nbytes - 1)))
                                fault = 5;
                            if (fault) {
                                FAULT(fault, lane, address);
                                break;
                            }
                            __global uint *words = (__global uint *)memory;
                            if (way == ATOMIC) {
                                const uint kind = head >> 16 & 255;
                                if (nbytes == 4) {
                                    target[lane * step_d] = atomic32(words, kind, at2[lane * step2], at3[lane * step3]);
                                } else {
                                    const ulong a = (ulong)at2[lane * step2 + next2] << 32 | at2[lane * step2];
                                    const ulong b = (ulong)at3[lane * step3 + next3] << 32 | at3[lane * step3];
                                    const ulong was = atomic64((__global ulong *)memory, kind, a, b);
                                    target[lane * step_d] = (uint)was;
                                    target[lane * step_d + next_d] = (uint)(was >> 32);
                                }
                            } else if (address & (min(nbytes, 4u) - 1)) {
                                /* compilers make such accesses of neighbours that the source takes one by one */
                                for (uint i = 0; i < nbytes; ++i) {
                                    const uint shift = 8 * (i & 3);
                                    __global uint *word = target + lane + LANES * (i / 4);
                                    __global uchar *byte = memory + i;
                                    if (step > 1)
                                        byte = (__global uchar *)(R + SCRATCH_AT + (address + i) / 4 * LANES + lane) + (address + i & 3);
                                    if (way == LOAD)
                                        *word = (i & 3 ? *word & ~(255u << shift) : 0) | (uint)*byte << shift;
                                    else
                                        *byte = (uchar)(at2[lane * step2 + next2 * (i / 4)] >> shift);
                                }
                            } else if (way == LOAD) {
                                if (nbytes == 1)
                                    target[lane] = memory[0];
                                else if (nbytes == 2)
                                    target[lane] = *(__global const ushort *)memory;
                                else
                                    for (uint i = 0; i < nbytes / 4; ++i)
                                        target[lane + LANES * i] = words[i * step];
                            } else {
                                if (nbytes == 1)
                                    memory[0] = (uchar)at2[lane * step2];
                                else if (nbytes == 2)
                                    *(__global ushort *)memory = (ushort)at2[lane * step2];
                                else
                                    for (uint i = 0; i < nbytes / 4; ++i)
                                        words[i * step] = at2[lane * step2 + next2 * i];
                            }
                        }
                        break;
                    }
</%def>
## What memory is made of, and what atomic operations store; atomics: atomics.Atomic in the order of
## their numbers; wide: whether the device has atomic operations on 64 bits
<%def name="functions(atomics, wide)">
/* the operations of memory are numbered so */
enum { GLOBAL, SHARED, SCRATCH, FLAT };
enum { LOAD, STORE, ATOMIC };

/* bytes of one buffer, which is not for reading only where it is written; else null. last: the one before.
   A region: first address, end, whether it is for reading only, its place in the arena */
static inline __global uchar *owned(__global uchar *arena, const ulong address, const uint bytes, const uint write,
    __global const ulong *regions, const uint count, uint *last)
{
    __global const ulong *region = regions + 4 * *last;
    if (address < region[0] || address >= region[1]) {
        uint first = 0, end = count;
        while (first < end) {
            const uint middle = (first + end) / 2;
            if (regions[4 * middle + 1] > address)
                end = middle;
            else
                first = middle + 1;
        }
        if (first == count || address < regions[4 * first])
            return 0;
        *last = first;
        region = regions + 4 * first;
    }
    return region[1] - address < bytes || (write && region[2]) ? 0 : arena + region[3] + (address - region[0]);
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
