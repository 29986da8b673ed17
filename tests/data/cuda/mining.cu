// A search for a nonce by a small hash: rotations, byte permutations and three-input logic by PTX,
// the fastest thread tells the others. Kernels are declared by a macro.
#include <stdint.h>
#include <stdio.h>
#include <cuda_runtime.h>

#define KERNEL(name) extern "C" __global__ void name
#define INLINE static __device__ __forceinline__
#define ROUNDS 8

INLINE uint32_t rotl(uint32_t x, uint32_t n) { return __funnelshift_l(x, x, n); }

INLINE uint32_t swap32(uint32_t x) { return __byte_perm(x, 0, 0x0123); }

INLINE uint32_t majority(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t r;
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); // expect: language/inline-asm
    return r;
}

INLINE unsigned lane_id()
{
    unsigned id;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(id)); // expect: warps/lane-id
    return id;
}

__constant__ uint32_t K[ROUNDS] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
                                   0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5};

INLINE uint32_t mix(uint32_t nonce, const uint4 seed)
{
    uint32_t a = seed.x ^ nonce, b = seed.y, c = seed.z, d = seed.w;
#pragma unroll
    for (int i = 0; i < ROUNDS; ++i) {
        const uint32_t t = d + majority(a, b, c) + rotl(a, 5 + i) + K[i];
        d = c;
        c = rotl(b, 30);
        b = a;
        a = t ^ swap32(c);
    }
    return a ^ rotl(b, 7) ^ rotl(c, 13) ^ __brev(d);
}

KERNEL(search)(const uint4 seed, uint32_t first, int zeros, uint32_t *best, long long *cycles)
{
    const long long begin = clock64(); // expect: arithmetic/clock
    const uint32_t nonce = first + blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t h = mix(nonce, seed);
    const int found = __clz(h) >= zeros;
    const unsigned votes = __ballot_sync(__activemask(), found); // expect: warps/ballot-64-bits, warps/mask-32-bits, warps/activemask
    if (votes != 0 && lane_id() == __ffs(votes) - 1) // expect: warps/popc-of-ballot
        atomicMin(best, nonce);
    if (threadIdx.x == 0 && blockIdx.x == 0)
        *cycles = clock64() - begin; // expect: arithmetic/clock
}

static uint32_t host_rotl(uint32_t x, uint32_t n) { return x << (n & 31) | x >> ((32 - n) & 31); }

static uint32_t host_mix(uint32_t nonce, const uint32_t *seed, const uint32_t *k)
{
    uint32_t a = seed[0] ^ nonce, b = seed[1], c = seed[2], d = seed[3], r = 0;
    for (int i = 0; i < ROUNDS; ++i) {
        const uint32_t t = d + ((a & b) | (a & c) | (b & c)) + host_rotl(a, 5 + i) + k[i];
        d = c;
        c = host_rotl(b, 30);
        b = a;
        a = t ^ (c >> 24 | (c >> 8 & 0xff00) | (c << 8 & 0xff0000) | c << 24);
    }
    for (int i = 0; i < 32; ++i)
        r |= (d >> i & 1) << (31 - i);
    return a ^ host_rotl(b, 7) ^ host_rotl(c, 13) ^ r;
}

int main()
{
    const uint32_t seed[4] = {1, 2, 3, 5};
    uint32_t k[ROUNDS], *best, host = 0xffffffff;
    long long *cycles;
    cudaMemcpyFromSymbol(k, K, sizeof k);
    cudaMalloc((void **)&best, 4);
    cudaMalloc((void **)&cycles, 8);
    cudaMemset(best, 0xff, 4);
    search<<<1024, 256>>>(make_uint4(1, 2, 3, 5), 0, 14, best, cycles);
    cudaMemcpy(&host, best, 4, cudaMemcpyDeviceToHost);
    uint32_t right = 0;
    while (right < 1024 * 256 && host_mix(right, seed, k) >> 18 != 0)
        ++right;
    if (right == 1024 * 256)
        right = 0xffffffff;
    printf("nonce %u, on the host %u\n%s\n", host, right, host == right ? "PASSED" : "FAILED");
    return host != right;
}
