## A program in one file that runs recorded cases of a routine and compares their bits: C, and C++ as well.
## part: the platform's HostProgram; name, routine, form; texts, kernels: modules and (module, name);
## number: of a kernel by text and name; runs: the cases; words: bytes as lines of 32-bit words.
<%namespace name="program" file="/programs/parts.mako"/>
/* ${routine} in ${form}, written by portmp: recorded cases, run and compared with the digests of their bits.

   Build:  ${part.build.format(name)}
   Run:    ./${name}             (./${name} 1 for the second device; without a number the first that works)

   It prints PASSED, and its status is 0, if every case has the recorded bits. The machine must be
   little-endian, as all that have such GPUs are. */
#ifndef _CRT_SECURE_NO_WARNINGS
#define _CRT_SECURE_NO_WARNINGS
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
${part.headers}
${program.kernels_of(part, texts, kernels)}
/* --- the program ------------------------------------------------------------------------------ */

static int host_device = -1;

static void host_fail(const char *what, const char *why)
{
    fprintf(stderr, "${name}: %s: %s\n", what, why);
    exit(2);
}

<%include file="/programs/${part.functions}.mako" args="part=part"/>

/* --- SHA-256 ---------------------------------------------------------------------------------- */

struct hash {
    unsigned state[8];
    unsigned char block[64];
    unsigned long long count;
};

static unsigned turned(unsigned x, int by)
{
    return x >> by | x << (32 - by);
}

/* the first 32 bits of the fractions of the first primes' roots: computed, not copied */
static unsigned fraction_of_root(int prime, int cubic)
{
    unsigned long long low = 0, high = 1ull << 38; /* 2^32 times the root, which is below 2^5 */
    while (high - low > 1) {
        const unsigned long long middle = low + (high - low) / 2;
        unsigned long long part[8] = {0}, product[8] = {0}, other[2];
        int i, j, power, larger;
        other[0] = middle & 0xffffffffull, other[1] = middle >> 32;
        part[0] = other[0], part[1] = other[1];
        for (power = 1; power < (cubic ? 3 : 2); ++power) {
            memset(product, 0, sizeof product);
            for (i = 0; i < 5; ++i)
                for (j = 0; j < 2; ++j) {
                    const unsigned long long one = part[i] * other[j];
                    unsigned long long carry;
                    int k = i + j;
                    product[k] += one & 0xffffffffull;
                    product[k + 1] += one >> 32;
                    for (; k < 7; ++k) {
                        carry = product[k] >> 32;
                        product[k] &= 0xffffffffull;
                        product[k + 1] += carry;
                    }
                }
            memcpy(part, product, sizeof part);
        }
        /* compare with prime 2^64 or prime 2^96 */
        larger = 0;
        for (i = 7; i > (cubic ? 3 : 2); --i)
            larger |= part[i] != 0;
        larger |= part[cubic ? 3 : 2] >= (unsigned long long)prime;
        if (larger)
            high = middle;
        else
            low = middle;
    }
    return (unsigned)(low & 0xffffffffull);
}

static unsigned sha_first[8], sha_round[64];

static void sha_begin(void)
{
    int found = 0, n, d;
    for (n = 2; found < 64; ++n) {
        for (d = 2; d * d <= n && n % d; ++d)
            ;
        if (d * d <= n)
            continue;
        if (found < 8)
            sha_first[found] = fraction_of_root(n, 0);
        sha_round[found++] = fraction_of_root(n, 1);
    }
}

static void sha_block(struct hash *h)
{
    unsigned w[64], s[8];
    int i;
    for (i = 0; i < 16; ++i)
        w[i] = (unsigned)h->block[4 * i] << 24 | (unsigned)h->block[4 * i + 1] << 16
            | (unsigned)h->block[4 * i + 2] << 8 | h->block[4 * i + 3];
    for (; i < 64; ++i)
        w[i] = w[i - 16] + w[i - 7]
            + (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3)
            + (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, h->state, sizeof s);
    for (i = 0; i < 64; ++i) {
        const unsigned a = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25))
            + ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha_round[i] + w[i];
        const unsigned b = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22))
            + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += a;
        s[0] = a + b;
    }
    for (i = 0; i < 8; ++i)
        h->state[i] += s[i];
}

static void sha_add(struct hash *h, const void *content, size_t bytes)
{
    const unsigned char *next = (const unsigned char *)content;
    for (; bytes; --bytes) {
        h->block[h->count++ % 64] = *next++;
        if (h->count % 64 == 0)
            sha_block(h);
    }
}

/* 32 hexadecimal digits */
static void sha_end(struct hash *h, char *text)
{
    const unsigned long long bits = 8 * h->count;
    unsigned char last = 0x80;
    int i;
    sha_add(h, &last, 1);
    for (last = 0; h->count % 64 != 56;)
        sha_add(h, &last, 1);
    for (i = 56; i >= 0; i -= 8) {
        last = (unsigned char)(bits >> i);
        sha_add(h, &last, 1);
    }
    for (i = 0; i < 4; ++i)
        sprintf(text + 8 * i, "%08x", h->state[i]);
}

/* all NaN count as one */
static void one_nan(void *content, size_t bytes, int word)
{
    size_t i;
    if (word == 4)
        for (i = 0; i < bytes / 4; ++i) {
            unsigned x;
            memcpy(&x, (char *)content + 4 * i, 4);
            if ((x & 0x7fffffffu) > 0x7f800000u)
                x = 0x7fc00000u;
            memcpy((char *)content + 4 * i, &x, 4);
        }
    if (word == 8)
        for (i = 0; i < bytes / 8; ++i) {
            unsigned long long x;
            memcpy(&x, (char *)content + 8 * i, 8);
            if ((x & 0x7fffffffffffffffull) > 0x7ff0000000000000ull)
                x = 0x7ff8000000000000ull;
            memcpy((char *)content + 8 * i, &x, 8);
        }
}

/* --- the cases -------------------------------------------------------------------------------- */

static void *device_memory(const void *content, size_t bytes)
{
    void *empty = content ? 0 : calloc(bytes, 1), *memory;
    if (!content && !empty)
        host_fail("memory", "does not suffice");
    memory = host_memory(content ? content : empty, bytes);
    free(empty);
    return memory;
}

static void add_result(struct hash *h, void *memory, size_t total, size_t from, size_t bytes, int word)
{
    char *content = (char *)malloc(total);
    if (!content)
        host_fail("memory", "does not suffice");
    host_fetch(content, memory, total);
    one_nan(content + from, bytes, word);
    sha_add(h, content + from, bytes);
    free(content);
}

static int judged(struct hash *h, const char *name, const char *expected)
{
    char found[40];
    sha_end(h, found);
    printf("%s: %s%s\n", name, found, strcmp(found, expected) ? " IS WRONG" : "");
    return strcmp(found, expected) != 0;
}

% for r, run in enumerate(runs):
% for m, content in enumerate(run.memories):
% if any(content):
static const unsigned data${r}_${m}[] = {
% for line in words(content):
    ${line}
% endfor
};
% endif
% endfor

static int case${r}(void)
{
    struct hash h;
    void *memory[${max(len(run.memories), 1)}];
    memset(&h, 0, sizeof h);
    memcpy(h.state, sha_first, sizeof sha_first);
% for m, content in enumerate(run.memories):
    memory[${m}] = device_memory(${f"data{r}_{m}" if any(content) else "0"}, ${len(content)});
% endfor
% for launch in run.launches:
    {
        const long long grid[3] = {${", ".join(map(str, launch.grid))}};
        const size_t block[3] = {${", ".join(map(str, launch.block))}};
% for a, one in enumerate(launch.arguments):
% if isinstance(one, bytes):
        unsigned long long number${a} = ${hex(int.from_bytes(one, "little"))}ull;
% endif
% endfor
        void *arguments[] = {${", ".join(f"&number{a}" if isinstance(one, bytes) else f"&memory[{one}]" for a, one in enumerate(launch.arguments))}};
        const size_t sizes[] = {${", ".join(str(len(one)) if isinstance(one, bytes) else "sizeof(void *)" for one in launch.arguments)}};
        host_launch(${number[launch.kernel.text, launch.kernel.name]}, grid, block, arguments, sizes, ${len(launch.arguments)}, ${launch.memory});
    }
% endfor
    sha_add(&h, "${run.shape}", ${len(run.shape)});
% for one in run.results:
    add_result(&h, memory[${one.memory}], ${len(run.memories[one.memory])}, ${one.offset}, ${one.nbytes}, ${run.words});
% endfor
    return judged(&h, "${run.name}", "${run.digest}");
}

% endfor
int main(int argc, char **argv)
{
    int wrong = 0;
    if (argc > 2)
        host_fail(argv[2], "is one argument too many: give the number of a device, or nothing");
    host_device = argc > 1 ? atoi(argv[1]) : -1;
    sha_begin();
    host_start();
% for r, _ in enumerate(runs):
    wrong += case${r}();
% endfor
    printf(wrong ? "FAILED: %d of ${len(runs)} cases\n" : "PASSED\n", wrong);
    return wrong != 0;
}
