## What the interpreter notes of mistakes in a kernel, and how it sees those in block memory.
## Times: each wave's turn between two barriers begins a new one, and so does a meeting of its lanes.
<%!
    from portmp.emulator.findings import ALL_BYTES, HEAD, MOST, SLOT, WORDS, Kind
%>
<%def name="checking()">
#define MOST ${MOST}
#define WORDS ${WORDS}
#define SLOT ${SLOT}

/* of each kind of finding and rows the first one, counted */
static void note(__global ulong *report, const uint kind, const uint row, const uint thread,
    const ulong address, const uint group, const uint other_row, const uint other_thread)
{
    for (uint i = 0; i < MOST; ++i) {
        __global ulong *one = report + ${HEAD} + WORDS * i;
        if (!one[0]) {
            one[0] = kind;
            one[1] = row;
            one[2] = thread;
            one[3] = address;
            one[4] = group;
            one[5] = other_row;
            one[6] = other_thread;
        }
        if (one[0] == kind && one[1] == row && one[5] == other_row) {
            ++one[7];
            return;
        }
    }
}

/* an access: its time, and its thread (10 bits), whether it read or was atomic, and its row */
typedef struct {
    uint time, who;
} access;
#define THREAD_OF(who) ((who) & 1023)
#define READS 1024
#define UPDATES 2048
#define ROW_OF(who) ((who) >> 12)

/* of a unit of block memory: when it was written, by whom, and who read it or updated it: the last
   one, and another one, of another wave where there is one */
typedef struct {
    uint written, unused;
    access write, last, other;
} shadow;

/* when the block, this part of it between barriers and the wave's turn began, and now */
typedef struct {
    uint block, part, turn, now;
} times;

/* whether an access of this part may come before or after this one */
static inline uint unordered(const access one, const times t, const uint who)
{
    return one.time == t.now ? THREAD_OF(one.who ^ who) != 0 : one.time >= t.part && one.time < t.turn;
}

/* what a later access must know: of two threads at the same time, or of two waves, either will do */
static inline void remember(__global shadow *unit, const times t, const uint who, const uint how)
{
    const access last = unit->last, other = unit->other;
    const uint foreign = other.time >= t.part && other.time < t.turn;
    if (last.time == t.now) {
        if (THREAD_OF(last.who ^ who) == 0) {
            if (!(last.who & how))
                unit->last.who = last.who | how;
            return;
        }
        if ((foreign || other.time == t.now) && (last.who & other.who & how))
            return;
        if (!foreign)
            unit->other = last;
    } else if (last.time >= t.part && last.time < t.turn && !foreign)
        unit->other = last;
    unit->last.time = t.now;
    unit->last.who = who | how;
}

/* the race of an access with an earlier one, or nothing: its kind, and *who the other was* */
% for way, flag, against in (("read", "READS", "UPDATES"), ("written", "0", "(READS | UPDATES)"), ("updated", "(READS | UPDATES)", "READS")):
<%
    either = way == "updated"
    kept = "UPDATES" if either else flag
%>
static inline uint ${way}(__global shadow *unit, const times t, const uint who, uint *other)
{
    uint found = 0;
% if way != "written":
    if (unit->written < t.block)
        found = ${Kind.UNSET};
% endif
    if (unordered(unit->write, t, who)) {
        *other = unit->write.who;
        found = ${Kind.BOTH_WRITE if way != "read" else Kind.READ_WRITE};
    } else if (unit->last.who & ${against} && unordered(unit->last, t, who)) {
        *other = unit->last.who;
        found = ${Kind.READ_WRITE};
    } else if (unit->other.who & ${against} && unordered(unit->other, t, who)) {
        *other = unit->other.who;
        found = ${Kind.READ_WRITE};
    }
% if way != "read":
    unit->written = t.now;
% endif
% if way == "written":
    unit->write.time = t.now;
    unit->write.who = who;
% else:
    remember(unit, t, who, ${kept});
% endif
    return found;
}

% endfor
/* all threads of the block wait at one barrier, and none has ended */
static void check_barrier(__global ulong *report, __global const uint *waves, const uint count,
    const uint words, const uint threads, const uint group)
{
    uint row = ~0u, other = ~0u, there = 0;
    for (uint wave = 0; wave < count; ++wave) {
        __global const uint *R = waves + wave * words;
        if (R[129] == ~0u)
            continue;
        if (row == ~0u)
            row = R[129] - 1;
        if (R[129] - 1 == row)
            there += popcount(R[EXEC]) + popcount(R[EXEC + 1]);
        else if (other == ~0u)
            other = R[129] - 1;
    }
    if (there != threads)
        note(report, ${Kind.DIVERGENCE}, row, there, 0, group, other, 0);
}

/* the same of a block that is one wave */
static void check_mark(__global ulong *report, const ulong exec, const uint threads, const uint row,
    const uint group)
{
    if (popcount(exec) != threads)
        note(report, ${Kind.DIVERGENCE}, row, (uint)popcount(exec), 0, group, ~0u, 0);
}

/* of each 32 threads all or none are at the barrier of a warp */
static void check_warps(__global ulong *report, const ulong exec, const uint threads, const uint wave,
    const uint row, const uint group)
{
    for (uint first = 0; first < LANES; first += 32) {
        const uint start = wave * LANES + first;
        const uint living = start >= threads ? 0 : threads - start >= 32 ? ~0u : (1u << (threads - start)) - 1;
        const uint there = (uint)(exec >> first);
        if (there && there != living)
            note(report, ${Kind.WARP_DIVERGENCE}, row, start + (uint)popcount((there & -there) - 1), 0, group, 0, 0);
    }
}

/* of the device's memory: whether bytes were ever written, by words and in them by bytes */
static inline uint is_known(__global const uchar *known, const ulong at, const uint bytes)
{
    uint have = ${ALL_BYTES};
    if ((at | bytes) & 3)
        for (ulong i = at; i < at + bytes; ++i)
            have &= known[i / 4] >> (i & 3) & 1 ? ~0u : 0;
    else
        for (uint i = 0; i < bytes / 4; ++i)
            have &= known[at / 4 + i];
    return have == ${ALL_BYTES};
}

static inline void make_known(__global uchar *known, const ulong at, const uint bytes)
{
    if ((at | bytes) & 3) /* another block may write a word's other bytes */
        for (ulong i = at; i < at + bytes; ++i)
            atomic_or((volatile __global uint *)known + i / 16, 1u << (i & 3) << 8 * (i / 4 & 3));
    else
        for (uint i = 0; i < bytes / 4; ++i)
            known[at / 4 + i] = ${ALL_BYTES};
}

/* at: the place in the arena */
#define KNOW(way, at, bytes) do { ${"\\"}
        if (checked && (way) != STORE && !is_known(known, at, bytes)) ${"\\"}
            note(report, ${Kind.FRESH}, row - 1, wave * LANES + lane, address, group, 0, 0); ${"\\"}
        if (checked && (way) != LOAD) ${"\\"}
            make_known(known, at, bytes); ${"\\"}
    } while (0)

/* units are words until a word is used by less; then each byte is one, of which is known what was of its word */
static void split(__global shadow *units, const uint bytes)
{
    for (uint word = bytes / 4 + 1; word--;)
        for (uint byte = 4; byte--;)
            units[4 * word + byte] = units[word];
}

/* where and by whom block memory is touched: a finding for each access, its first unit that has one */
% for name, way in (("LOAD", "read"), ("STORE", "written"), ("ATOMIC", "updated")):
#define CHECK_${name}(address, bytes) do { ${"\\"}
        if (checked && !bytewise && ((address) | (bytes)) & 3) { ${"\\"}
            split(units, SHARED_BYTES); ${"\\"}
            bytewise = 1; ${"\\"}
        } ${"\\"}
        const uint grain_ = bytewise ? 0 : 2; ${"\\"}
        for (uint unit_ = 0; checked && unit_ < (bytes) >> grain_; ++unit_) { ${"\\"}
            uint other_ = 0; ${"\\"}
            const uint thread_ = wave * LANES + lane; ${"\\"}
            const uint found_ = ${way}(&units[((address) >> grain_) + unit_], t, thread_ | (row - 1) << 12, &other_); ${"\\"}
            if (found_) { ${"\\"}
                note(report, found_, row - 1, thread_, (address) + (unit_ << grain_), group, ROW_OF(other_), THREAD_OF(other_)); ${"\\"}
                break; ${"\\"}
            } ${"\\"}
        } ${"\\"}
    } while (0)
% endfor
</%def>
