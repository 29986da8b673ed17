/* Launches on a processor: queues in order, blocks shared out among threads, work-items that meet at
   barriers. Freestanding C: what it needs of the system it is given (struct system), so it is
   compiled and linked without headers or libraries, as the kernels are. runtime.py calls it.

   A launch's blocks are taken by an atomic counter. Whoever launches begins with them, and hands on
   what has not ended after some microseconds; whoever waits takes part. No thread is made by a
   launch. */

#define EXPORT __attribute__((visibility("default")))
typedef unsigned long long u64;
typedef long long i64;

enum { LANES = 3, STACK = 1 << 18, MOST_ITEMS = 1024, WORKER_STACK = 1 << 24 };
enum { RECORD = 2048, RECORDS = 64, MOST_OPEN = 1 << 12, MOST_WAITING = 1 << 10, TURNS = 1000 };
static const i64 SOON = 8000; /* nanoseconds that a launch may keep its caller, before others help */

/* Functions of the system, in the order of runtime.py. */
static struct system {
    void *wait, *wake, *thread, *memory, *clock;
} os;

/* opencl_prelude.h has both for kernels. */
struct item {
    u64 group[LANES], groups[LANES], size[LANES], local[LANES];
    char *block_memory;
};

struct blocks {
    i64 begin, end;
    u64 groups[LANES], size[LANES];
    char *block_memory;
    u64 meet;
};

struct kernel {
    void (*run)(const char *arguments, struct blocks *); /* all blocks, where no work-items meet */
    void (*call)(const char *arguments);                 /* one work-item, where they may */
    struct item *(*here)(struct blocks *);
    i64 each; /* nanoseconds a block, as last seen */
};

struct launch {
    struct kernel *kernel;
    struct queue *queue;
    struct launch *after;
    u64 groups[LANES], size[LANES], block_memory;
    i64 total, next, left, users;
    char arguments[];
};

/* Launches in order; the first is under way. */
struct queue {
    struct launch *first, *last;
    int ended, issued; /* how many, modulo 2^32 */
    int failed, sleeping;
};

static int threads, lock_word, news, idle;

/* --- words of the processor --------------------------------------------------------------- */

#if defined(__x86_64__)
#define PAUSE() __asm__ volatile("pause")
typedef unsigned floats;
#define TAKE_FLOATS(was) __asm__ volatile("stmxcsr %0" : "=m"(was))
#define GIVE_FLOATS(to) __asm__ volatile("ldmxcsr %0" : : "m"(to))
enum { NEAREST = 0x1f80 };
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
typedef u64 floats;
#define TAKE_FLOATS(was) __asm__ volatile("mrs %0, fpcr" : "=r"(was))
#define GIVE_FLOATS(to) __asm__ volatile("msr fpcr, %0" : : "r"(to))
enum { NEAREST = 0 };
#elif defined(__riscv)
#define PAUSE() __asm__ volatile("nop")
typedef u64 floats;
#define TAKE_FLOATS(was) __asm__ volatile("frcsr %0" : "=r"(was))
#define GIVE_FLOATS(to) __asm__ volatile("fscsr %0" : : "r"(to))
enum { NEAREST = 0 };
#endif

static floats floats_of_thread(void)
{
    floats was;
    TAKE_FLOATS(was);
    return was;
}
static void set_floats(floats to) { GIVE_FLOATS(to); }

/* --- words of the system ---------------------------------------------------------------------- */

#if defined(__linux__)
#if defined(__x86_64__)
enum { FUTEX = 202 };
#else
enum { FUTEX = 98 };
#endif
static void wait(int *word, int while_it_is)
{
    ((i64 (*)(i64, int *, i64, i64, void *))os.wait)(FUTEX, word, 128, while_it_is, 0);
}
static void wake(int *word, int most)
{
    ((i64 (*)(i64, int *, i64, i64))os.wake)(FUTEX, word, 129, most);
}
enum { MAPPED = 0x20 | 0x2 | 0x4000, MONOTONIC = 1 }; /* nothing is reserved before it is used */
#elif defined(__APPLE__)
static void wait(int *word, int while_it_is)
{
    ((int (*)(unsigned, void *, u64, unsigned))os.wait)(1, word, while_it_is, 0);
}
static void wake(int *word, int most)
{
    ((int (*)(unsigned, void *, u64))os.wake)(most > 1 ? 0x101 : 1, word, 0);
}
enum { MAPPED = 0x1000 | 0x2, MONOTONIC = 6 };
#endif

#if defined(_WIN32)
static void wait(int *word, int while_it_is)
{
    ((int (*)(void *, void *, u64, unsigned))os.wait)(word, &while_it_is, 4, 0xffffffffu);
}
static void wake(int *word, int most) { ((void (*)(void *))os.wake)(word); }
static int start(void *(*run)(void *), void *argument)
{
    void *(*create)(void *, u64, void *(*)(void *), void *, unsigned, void *) = os.thread;
    return !create(0, 0, run, argument, 0, 0);
}
static void *memory(u64 bytes)
{
    return ((void *(*)(void *, u64, unsigned, unsigned))os.memory)(0, bytes, 0x3000, 4);
}
static i64 nanoseconds(void)
{
    i64 hundreds;
    ((void (*)(i64 *))os.clock)(&hundreds);
    return hundreds * 100;
}
#else
static int start(void *(*run)(void *), void *argument)
{
    u64 thread;
    int (*create)(void *, void *, void *(*)(void *), void *) = os.thread;
    return create(&thread, 0, run, argument);
}
static void *memory(u64 bytes)
{
    void *(*map)(void *, u64, int, int, int, i64) = os.memory;
    char *found = map(0, bytes, 3, MAPPED, -1, 0);
    return found == (char *)-1 ? 0 : found;
}
static i64 nanoseconds(void)
{
    i64 now[2];
    ((int (*)(int, void *))os.clock)(MONOTONIC, now);
    return now[0] * 1000000000 + now[1];
}
#endif

/* --- fibres: work-items that meet ----------------------------------------------------------- */

/* What a thread has for blocks whose work-items meet: for each of them a stack and its top. */
struct crew {
    struct blocks blocks; /* first: kernels give its address */
    struct kernel *kernel;
    const char *arguments;
    struct item *item;
    void *outside, **tops;
    char *over; /* which have ended */
    u64 count, current, living, there;
    char *block_memory;
    u64 block_room;
    void *caller, *mine; /* tops of the stack of who works, and of the crew's own, large enough */
    struct launch *launch;
    i64 did;
    int soon;
};

/* switch_to keeps the registers that a call must keep on the stack, leaves its top in *from and
   goes on at to. A new fibre goes on in begin, which calls a function that never returns. */
#define NAKED static __attribute__((naked, noinline, used)) FIBRE
#if defined(__x86_64__)
#define FIBRE __attribute__((sysv_abi)) void /* on Windows, too */
NAKED switch_to(void **from, void *to)
{
    __asm__("push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
            "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
            "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret");
}
NAKED begin(void) { __asm__("mov %r12, %rdi\ncall *%r13\nud2"); }
enum { KEPT = 7, FUNCTION = 2, ARGUMENT = 3, RETURN = 6 };
#elif defined(__aarch64__)
#define FIBRE void
NAKED switch_to(void **from, void *to)
{
    __asm__("sub sp, sp, #160\n"
            "stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
            "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
            "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n"
            "stp d14, d15, [sp, #144]\n"
            "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
            "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
            "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
            "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
            "ldp d14, d15, [sp, #144]\nadd sp, sp, #160\nret");
}
NAKED begin(void) { __asm__("mov x0, x19\nblr x20\nbrk #0"); }
enum { KEPT = 20, FUNCTION = 1, ARGUMENT = 0, RETURN = 11 };
#elif defined(__riscv)
#define FIBRE void
#define EACH(op) \
    op " ra, 0(sp)\n" op " s0, 8(sp)\n" op " s1, 16(sp)\n" op " s2, 24(sp)\n" op " s3, 32(sp)\n" \
    op " s4, 40(sp)\n" op " s5, 48(sp)\n" op " s6, 56(sp)\n" op " s7, 64(sp)\n" op " s8, 72(sp)\n" \
    op " s9, 80(sp)\n" op " s10, 88(sp)\n" op " s11, 96(sp)\n" \
    "f" op " fs0, 104(sp)\nf" op " fs1, 112(sp)\nf" op " fs2, 120(sp)\nf" op " fs3, 128(sp)\n" \
    "f" op " fs4, 136(sp)\nf" op " fs5, 144(sp)\nf" op " fs6, 152(sp)\nf" op " fs7, 160(sp)\n" \
    "f" op " fs8, 168(sp)\nf" op " fs9, 176(sp)\nf" op " fs10, 184(sp)\nf" op " fs11, 192(sp)\n"
NAKED switch_to(void **from, void *to)
{
    __asm__("addi sp, sp, -208\n" EACH("sd") "sd sp, 0(a0)\nmv sp, a1\n" EACH("ld")
            "addi sp, sp, 208\nret");
}
NAKED begin(void) { __asm__("mv a0, s0\njalr s1\nebreak"); }
enum { KEPT = 26, FUNCTION = 2, ARGUMENT = 1, RETURN = 0 };
#endif

/* The top of a new fibre's stack, which ends there. */
static void *born(char *end, FIBRE (*function)(struct crew *), struct crew *crew)
{
    void **top = (void **)end - KEPT - 8;
    for (int k = 0; k < KEPT; k++)
        top[k] = 0;
    top[FUNCTION] = (void *)function;
    top[ARGUMENT] = crew;
    top[RETURN] = (void *)begin;
    return top;
}

static void place(struct crew *crew, u64 number)
{
    const u64 *size = crew->blocks.size;
    u64 *local = crew->item->local;
    crew->current = number;
    if (number < size[0]) {
        local[0] = number, local[1] = local[2] = 0;
    } else {
        local[0] = number % size[0];
        local[1] = number / size[0] % size[1];
        local[2] = number / (size[0] * size[1]);
    }
}

/* Let the next work-item go on that has not ended; of one alone nothing. */
static void pass(struct crew *crew)
{
    const u64 was = crew->current;
    u64 next = was;
    do
        next = next + 1 < crew->count ? next + 1 : 0;
    while (crew->over[next] && next != was);
    if (next == was)
        return;
    place(crew, next);
    switch_to(&crew->tops[was], crew->tops[next]);
}

static void meet(struct blocks *blocks) { pass((struct crew *)blocks); }

/* The life of a work-item's fibre: one in each block. */
static FIBRE live(struct crew *crew)
{
    for (;;) {
        crew->kernel->call(crew->arguments);
        crew->over[crew->current] = 1;
        if (--crew->living)
            pass(crew);
        else
            switch_to(&crew->tops[crew->current], crew->outside);
    }
}

/* Have a fibre for each work-item; 0 where there is no memory. */
static int man(struct crew *crew, u64 count)
{
    if (count > MOST_ITEMS)
        return 0;
    if (!crew->tops) {
        char *found = memory(MOST_ITEMS * (sizeof(void *) + 1));
        if (!found)
            return 0;
        crew->tops = (void **)found;
        crew->over = found + MOST_ITEMS * sizeof(void *);
    }
    if (crew->there < count) {
        const u64 more = count - crew->there;
        char *stack = memory(more * STACK);
        if (!stack)
            return 0;
        for (u64 i = 0; i < more; i++)
            crew->tops[crew->there + i] = born(stack + (i + 1) * STACK, live, crew);
        crew->there = count;
    }
    crew->count = count;
    return 1;
}

/* The blocks of a kernel whose work-items may meet. */
static int meeting(struct crew *crew)
{
    struct blocks *blocks = &crew->blocks;
    const u64 *groups = blocks->groups, *size = blocks->size;
    const u64 count = size[0] * size[1] * size[2];
    struct item *item = crew->kernel->here(blocks);
    crew->item = item;
    for (int axis = 0; axis < LANES; axis++)
        item->groups[axis] = groups[axis], item->size[axis] = size[axis];
    item->block_memory = blocks->block_memory;
    if (!man(crew, count))
        return 0;
    for (i64 block = blocks->begin; block < blocks->end; block++) {
        item->group[0] = block % groups[0];
        item->group[1] = block / groups[0] % groups[1];
        item->group[2] = block / (groups[0] * groups[1]);
        for (u64 i = 0; i < count; i++)
            crew->over[i] = 0;
        crew->living = count;
        place(crew, 0);
        if (count == 1)
            crew->kernel->call(crew->arguments);
        else
            switch_to(&crew->outside, crew->tops[0]);
    }
    return 1;
}

/* --- threads ---------------------------------------------------------------------------------- */

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)
#define ADD(word, n) __atomic_fetch_add(&(word), (n), __ATOMIC_SEQ_CST)

static void lock(void)
{
    for (int turn = 0;; turn++) {
        int is = 0;
        if (__atomic_compare_exchange_n(&lock_word, &is, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        if (turn < 200) {
            PAUSE();
        } else if (__atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE)) {
            wait(&lock_word, 2);
            if (!__atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE))
                return;
        } else {
            return;
        }
    }
}

static void unlock(void)
{
    if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) == 2)
        wake(&lock_word, 1);
}

/* Launches that have blocks to begin, crews and records that nobody uses. */
static struct launch *open_launches[MOST_OPEN];
static int open_count;
static struct crew *free_crews;
static struct launch *free_records;

static FIBRE serve(struct crew *crew);

static struct crew *take_crew(void)
{
    struct crew *crew = free_crews;
    if (crew) {
        free_crews = (struct crew *)crew->arguments;
        return crew;
    }
    char *stack = memory(WORKER_STACK + sizeof *crew); /* all 0 */
    if (stack) {
        crew = (struct crew *)(stack + WORKER_STACK);
        crew->mine = born(stack + WORKER_STACK, serve, crew);
    }
    return crew;
}

static void give_crew(struct crew *crew)
{
    crew->arguments = (const char *)free_crews;
    free_crews = crew;
}

static struct launch *take_record(void)
{
    if (!free_records) {
        char *more = memory(RECORDS * RECORD);
        for (int i = 0; more && i < RECORDS; i++) {
            struct launch *record = (struct launch *)(more + i * RECORD);
            record->after = free_records;
            free_records = record;
        }
    }
    struct launch *record = free_records;
    if (record)
        free_records = record->after;
    return record;
}

static void give_record(struct launch *record)
{
    record->after = free_records;
    free_records = record;
}

/* Let all threads take blocks of a launch. */
static void share(struct launch *launch)
{
    open_launches[open_count++] = launch;
    ADD(news, 1);
}

static void unshare(struct launch *launch)
{
    for (int i = 0; i < open_count; i++)
        if (open_launches[i] == launch) {
            open_launches[i] = open_launches[--open_count];
            return;
        }
}

/* Leave a launch that somebody worked at, who did so many blocks; the lock is held. */
static void leave(struct launch *launch, i64 did)
{
    struct queue *queue = launch->queue;
    launch->left -= did;
    launch->users--;
    if (launch->next >= launch->total)
        unshare(launch);
    if (launch->left || launch->users)
        return;
    queue->first = launch->after;
    if (!queue->first)
        queue->last = 0;
    else
        share(queue->first);
    give_record(launch);
    __atomic_store_n(&queue->ended, queue->ended + 1, __ATOMIC_SEQ_CST);
}

/* Tell sleepers of what the lock's last holder did. */
static void tell(struct queue *queue)
{
    if (LOAD(idle) && open_count)
        wake(&news, threads);
    if (LOAD(queue->sleeping))
        wake(&queue->ended, 1 << 30);
}

/* Do blocks from one to another; 0 where memory is used up. */
static int blocks_of(struct crew *crew, struct launch *launch, i64 begin, i64 end)
{
    struct blocks *blocks = &crew->blocks;
    if (crew->block_room < launch->block_memory) {
        const u64 room = (launch->block_memory + 0xffff) / 0x10000 * 0x10000;
        crew->block_memory = memory(room);
        crew->block_room = crew->block_memory ? room : 0;
        if (!crew->block_memory)
            return 0;
    }
    crew->kernel = launch->kernel;
    crew->arguments = launch->arguments;
    blocks->begin = begin;
    blocks->end = end;
    blocks->block_memory = crew->block_memory;
    blocks->meet = (u64)meet;
    for (int axis = 0; axis < LANES; axis++)
        blocks->groups[axis] = launch->groups[axis], blocks->size[axis] = launch->size[axis];
    if (!launch->kernel->run)
        return meeting(crew);
    launch->kernel->run(launch->arguments, blocks);
    return 1;
}

/* Take blocks as long as there are any; with *soon* no longer than it may keep the caller. */
static i64 blocks_taken(struct crew *crew, struct launch *launch, int soon)
{
    const floats was = floats_of_thread();
    set_floats(NEAREST);
    const i64 start = nanoseconds(), total = launch->total, shares = total / (8 * threads + 8);
    i64 did = 0, step = soon || !shares ? 1 : shares;
    for (;;) {
        const i64 begin = ADD(launch->next, step);
        if (begin >= total)
            break;
        const i64 end = begin + step < total ? begin + step : total;
        if (!blocks_of(crew, launch, begin, end))
            launch->queue->failed = 1;
        did += end - begin;
        if (soon) {
            if (end < total && nanoseconds() - start > SOON)
                break;
            step *= 2;
        }
    }
    if (did)
        launch->kernel->each = (nanoseconds() - start) / did;
    set_floats(was);
    return did;
}

/* The life of a crew's own fibre, since stacks of threads that call may be short. */
static FIBRE serve(struct crew *crew)
{
    for (;;) {
        crew->did = blocks_taken(crew, crew->launch, crew->soon);
        switch_to(&crew->mine, crew->caller);
    }
}

static i64 work(struct crew *crew, struct launch *launch, int soon)
{
    crew->launch = launch;
    crew->soon = soon;
    switch_to(&crew->caller, crew->mine);
    return crew->did;
}

static void *labour(void *nothing)
{
    (void)nothing;
    lock();
    struct crew *crew = take_crew();
    if (!crew) {
        unlock();
        return 0;
    }
    for (;;) {
        const int seen = news;
        if (open_count) {
            struct launch *launch = open_launches[0];
            struct queue *queue = launch->queue;
            launch->users++;
            unlock();
            const i64 did = work(crew, launch, 0);
            lock();
            leave(launch, did);
            unlock();
            tell(queue);
        } else {
            unlock();
            for (int turn = 0; turn < TURNS && LOAD(news) == seen; turn++)
                PAUSE();
            if (LOAD(news) == seen) {
                ADD(idle, 1);
                wait(&news, seen);
                ADD(idle, -1);
            }
        }
        lock();
    }
    return 0;
}

/* --- what runtime.py calls ---------------------------------------------------------------------- */

/* Begin with the system's functions and so many threads beside the caller's. */
EXPORT int portmp_begin(const struct system *functions, int wanted)
{
    os = *functions;
    for (int i = 0; i < wanted; i++)
        if (!start(labour, 0))
            threads++;
    return threads;
}

/* Wait until at most so many launches of a queue are left, and take part; 0 if all went well. */
EXPORT int portmp_finish(struct queue *queue, int most)
{
    struct crew *crew = 0;
    lock();
    while (queue->issued - queue->ended > most) {
        struct launch *launch = queue->first;
        const int seen = queue->ended;
        int shared = 0;
        for (int i = 0; i < open_count; i++)
            shared |= open_launches[i] == launch;
        if (shared) {
            crew = crew ? crew : take_crew();
            launch->users++;
            unlock();
            const i64 did = work(crew, launch, 0);
            lock();
            leave(launch, did);
            unlock();
            tell(queue);
        } else {
            unlock();
            for (int turn = 0; turn < TURNS && LOAD(queue->ended) == seen; turn++)
                PAUSE();
            if (LOAD(queue->ended) == seen) {
                ADD(queue->sleeping, 1);
                wait(&queue->ended, seen);
                ADD(queue->sleeping, -1);
            }
        }
        lock();
    }
    if (crew)
        give_crew(crew);
    const int failed = queue->failed;
    queue->failed = 0;
    unlock();
    return failed;
}

/* Launch; shape: blocks and work-items along each axis, and bytes of block memory. 1 where there is
   no memory for it, 2 for too many arguments. */
EXPORT int portmp_launch(
    struct queue *queue, struct kernel *kernel, const u64 *shape, const char *arguments, u64 bytes)
{
    if (sizeof(struct launch) + bytes > RECORD)
        return 2;
    if (queue->issued - LOAD(queue->ended) > MOST_WAITING)
        portmp_finish(queue, MOST_WAITING / 2);
    lock();
    struct launch *launch = take_record();
    struct crew *crew = take_crew();
    if (!launch || !crew || open_count >= MOST_OPEN - 1) {
        unlock();
        return 1;
    }
    launch->kernel = kernel;
    launch->queue = queue;
    launch->after = 0;
    for (int axis = 0; axis < LANES; axis++)
        launch->groups[axis] = shape[axis], launch->size[axis] = shape[axis + LANES];
    launch->block_memory = shape[2 * LANES];
    launch->total = launch->left = shape[0] * shape[1] * shape[2];
    launch->next = launch->users = 0;
    for (u64 i = 0; i < bytes / 8; i++)
        ((u64 *)launch->arguments)[i] = ((const u64 *)arguments)[i];
    queue->issued++;
    if (queue->first) {
        queue->last->after = launch;
        queue->last = launch;
        give_crew(crew);
        unlock();
        return 0;
    }
    queue->first = queue->last = launch;
    i64 did = 0;
    if (launch->total == 1 || kernel->each * launch->total <= SOON || !threads) {
        launch->users++;
        unlock();
        did = work(crew, launch, 1);
        lock();
        if (did < launch->total)
            share(launch);
        leave(launch, did);
    } else {
        share(launch);
    }
    give_crew(crew);
    unlock();
    tell(queue);
    return 0;
}

/* What portmp_launch is given, prepared. */
struct prepared {
    struct kernel *kernel;
    const u64 *shape;
    const char *arguments;
    u64 bytes;
};

/* Launch all of a list, so many times; 0, or portmp_launch's status and four times the place of the
   launch that failed. */
EXPORT u64 portmp_repeat(struct queue *queue, const struct prepared *list, u64 count, u64 times)
{
    for (u64 turn = 0; turn < times; turn++)
        for (u64 i = 0; i < count; i++) {
            const struct prepared *one = list + i;
            const int failed =
                portmp_launch(queue, one->kernel, one->shape, one->arguments, one->bytes);
            if (failed)
                return 4 * i + failed;
        }
    return 0;
}
