/* A process that runs kernels of one program under qemu, for emulated.py. With pool.c a freestanding
   program of Linux: aarch64 and riscv64 have the same numbers of system calls.

   It says that it is there, and then reads launches from standard input until that ends: a struct
   request and its arguments. It answers each once it is done. Of the device's memory it maps what is
   in use: qemu keeps notes of each page. */

enum { READ = 63, WRITE = 64, EXIT = 94, CLOCK = 113, PRCTL = 167, MMAP = 222, PRLIMIT = 261 };
enum { ARGUMENTS = 1 << 16, INPUT = 0, OUTPUT = 1 };

struct request {
    u64 kernel, memory, bytes, shape[2 * LANES + 1]; /* memory: so many bytes, at least as before */
};

extern struct kernel portmp_kernels[]; /* emulated.py writes them, by their names' order */

static i64 system_call(i64 number, i64 a, i64 b, i64 c, i64 d, i64 e, i64 f)
{
#if defined(__aarch64__)
    register i64 x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register i64 x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
    register i64 x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
    register i64 a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b;
    register i64 a2 __asm__("a2") = c, a3 __asm__("a3") = d, a4 __asm__("a4") = e;
    register i64 a5 __asm__("a5") = f;
    __asm__ volatile("ecall"
                     : "+r"(a0)
                     : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
                     : "memory");
    return a0;
#endif
}

static void *mapped(void *at, u64 bytes, int protection, int flags, int file, i64 offset)
{
    const i64 found = system_call(MMAP, (i64)at, bytes, protection, flags, file, offset);
    return (void *)(found < 0 && found > -4096 ? -1 : found);
}

static int clock_now(int which, void *now)
{
    return system_call(CLOCK, which, (i64)now, 0, 0, 0, 0);
}

static void *no_function(void) { return 0; } /* one thread waits for nobody */

/* What compilers call without being asked. */
EXPORT void *memset(void *to, int value, u64 bytes)
{
    for (u64 i = 0; i < bytes; i++)
        ((volatile char *)to)[i] = value;
    return to;
}

EXPORT void *memmove(void *to, const void *from, u64 bytes)
{
    for (u64 i = 0; i < bytes; i++) {
        const u64 at = (u64)to < (u64)from ? i : bytes - 1 - i;
        ((volatile char *)to)[at] = ((const char *)from)[at];
    }
    return to;
}

EXPORT void *memcpy(void *to, const void *from, u64 bytes) { return memmove(to, from, bytes); }

static void end(int status)
{
    system_call(EXIT, status, 0, 0, 0, 0, 0);
}

/* All of it, however many parts it comes in. */
static void take(void *to, u64 bytes)
{
    for (u64 done = 0; done < bytes;) {
        const i64 more = system_call(READ, INPUT, (i64)to + done, bytes - done, 0, 0, 0);
        if (more <= 0)
            end(0);
        done += more;
    }
}

static void answer(i64 word)
{
    if (system_call(WRITE, OUTPUT, (i64)&word, sizeof word, 0, 0, 0) != sizeof word)
        end(1);
}

__attribute__((used, noreturn)) static void work_on(const u64 *stack)
{
    static char arguments[ARGUMENTS];
    static struct queue queue;
    static const u64 no_core[2];
    static const struct system functions = {no_function, no_function, no_function, mapped, clock_now};
    u64 facts[2] = {0, 0}, there = 0; /* where memory begins, and its file; how much is mapped */
    const char *const *given = (const char *const *)(stack + 2);
    for (int i = 0; i < 2; i++)
        for (const char *digit = given[i]; *digit; digit++)
            facts[i] = facts[i] * 10 + *digit - '0';
    system_call(PRCTL, 1, 9, 0, 0, 0, 0); /* killed with the thread that started it */
    system_call(PRLIMIT, 0, 4, (i64)no_core, 0, 0, 0);
    portmp_begin(&functions, 0);
    answer(0);
    for (;;) {
        struct request request;
        take(&request, sizeof request);
        take(arguments, request.bytes);
        const u64 more = request.memory - there;
        char *const next = (char *)facts[0] + there;
        if (more && mapped(next, more, 3, 0x11, facts[1], there) != next)
            end(2);
        there = request.memory;
        const int failed = portmp_launch(
            &queue, &portmp_kernels[request.kernel], request.shape, arguments, request.bytes);
        answer(portmp_finish(&queue, 0) ? 1 : failed);
    }
}

#if defined(__aarch64__)
__attribute__((naked, used, visibility("default"))) void _start(void)
{
    __asm__("mov x0, sp\nb work_on");
}
#else
__attribute__((naked, used, visibility("default"))) void _start(void)
{
    __asm__(".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"
            "mv a0, sp\nj work_on");
}
#endif
