// Inline PTX of many kinds, cache hints, bit tricks, clocks, a spin lock.
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
__device__ __forceinline__ uint32_t add_carry(uint32_t a, uint32_t b, uint32_t &high) // expect-opencl: language/references
{
    uint32_t low;
    asm("add.cc.u32 %0, %2, %3;\n\t" // expect: language/inline-asm
        "addc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(a), "r"(b));
    return low;
}
__device__ float load_streaming(const float *p) { float v; asm volatile("ld.global.cs.f32 %0, [%1];" : "=f"(v) : "l"(p)); return v; } // expect: language/inline-asm
__device__ int lock; // expect-opencl: memory/device-variables
__device__ void locked(int *p)
{
    while (atomicCAS(&lock, 0, 1) != 0) ; // expect: warps/independent-scheduling
    __threadfence();
    *p += 1;
    __threadfence();
    atomicExch(&lock, 0);
}
__global__ void mixed(const float *x, float4 *v, uint32_t *out, long long *times, int n)
{
    long long begin = clock64(); // expect: arithmetic/clock
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t high, low = add_carry(i, 0xfffffff0u, high);
    float f = __ldcs(x + i); // expect: memory/read-only
    __stcg(v + i, make_float4(f, f, f, __frcp_rn(f))); // expect: memory/read-only
    low ^= __funnelshift_r(low, high, 7) + __umulhi(low, 0x9e3779b9u) + __popcll((uint64_t)low << 32) + __clzll(low);
    low += __usad(low, high, 3u) + __byte_perm(low, high, 0x3210) + __brev(low);
    uint32_t shifted = low << 32; // expect: arithmetic/shift-count
    out[i] = low ^ __float2uint_rz(f) ^ __double2int_rd((double)f) ^ shifted;
    asm volatile("bar.sync 1, 64;"); // expect: synchronisation/named-barrier
    asm volatile("membar.gl;" ::: "memory"); // expect: language/inline-asm
    float r = __fadd_rz(f, 1.f) + __fdiv_rd(f, 3.f) + __frsqrt_rn(f); // expect: arithmetic/directed-rounding, arithmetic/frsqrt-rn
    if (r > n) __trap(); // expect: language/assert
    if (threadIdx.x == 0) times[blockIdx.x] = clock64() - begin; // expect: arithmetic/clock
    locked((int *)out);
}
int main()
{
    void *p;
    cudaMalloc(&p, 1 << 20);
    mixed<<<4, 64>>>((float *)p, (float4 *)p, (uint32_t *)p, (long long *)p, 256);
    printf("%d\n", cudaDeviceSynchronize());
}
