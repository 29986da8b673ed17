// An inclusive scan in one pass: each block publishes its sum, then looks back at the sums of the
// blocks before it. Tickets give the blocks an order in which they were begun.
#include <cstdint>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 256;
constexpr int kItems = 4;
constexpr int kTile = kThreads * kItems;

enum State : unsigned { kEmpty = 0, kSum = 1, kPrefix = 2 };

struct Shared {
    unsigned sums[kThreads / 32];
    unsigned tile;
    unsigned before;
};

__device__ inline unsigned warp_inclusive(unsigned x)
{
    const int lane = threadIdx.x % 32; // expect: warps/hard-coded-32
#pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
        const unsigned y = __shfl_up_sync(0xFFFFFFFF, x, offset); // expect: warps/mask-32-bits, warps/shuffle-width
        if (lane >= offset)
            x += y;
    }
    return x;
}

__global__ void __launch_bounds__(kThreads)
scan(const unsigned *in, unsigned *out, int n, unsigned *ticket,
     volatile unsigned long long *status)
{
    __shared__ Shared s;
    if (threadIdx.x == 0)
        s.tile = atomicAdd(ticket, 1u);
    __syncthreads();
    const int tile = s.tile, base = tile * kTile + threadIdx.x * kItems;
    unsigned v[kItems], total = 0;
    for (int i = 0; i < kItems; ++i) {
        v[i] = base + i < n ? __ldg(&in[base + i]) : 0;
        v[i] = total += v[i];
    }
    const int warp = threadIdx.x / 32; // expect: warps/hard-coded-32
    const unsigned inclusive = warp_inclusive(total);
    if (threadIdx.x % 32 == 31) // expect: warps/hard-coded-32
        s.sums[warp] = inclusive;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned sum = 0;
        for (int i = 0; i < kThreads / 32; ++i) {
            const unsigned here = s.sums[i];
            s.sums[i] = sum;
            sum += here;
        }
        const unsigned long long mine = tile == 0 ? kPrefix : kSum;
        status[tile] = mine << 32 | sum;
        __threadfence();
        unsigned before = 0;
        for (int look = tile - 1; look >= 0;) {
            const unsigned long long seen = status[look];
            const unsigned state = seen >> 32;
            if (state == kEmpty)
                continue;
            before += static_cast<unsigned>(seen);
            if (state == kPrefix)
                break;
            --look;
        }
        s.before = before;
        __threadfence();
        status[tile] = static_cast<unsigned long long>(kPrefix) << 32 | (before + sum);
    }
    __syncthreads();
    const unsigned first = s.before + s.sums[warp] + inclusive - total;
    for (int i = 0; i < kItems; ++i)
        if (base + i < n)
            out[base + i] = first + v[i];
}

} // namespace

int main()
{
    const int n = 100003, tiles = (n + kTile - 1) / kTile;
    std::vector<unsigned> host(n), result(n);
    for (int i = 0; i < n; ++i)
        host[i] = (i * 2654435761u) >> 28;
    unsigned *in, *out, *ticket;
    unsigned long long *status;
    cudaMalloc(&in, n * sizeof *in);
    cudaMalloc(&out, n * sizeof *out);
    cudaMalloc(&ticket, sizeof *ticket);
    cudaMalloc(&status, tiles * sizeof *status);
    cudaMemset(ticket, 0, sizeof *ticket);
    cudaMemset(status, 0, tiles * sizeof *status);
    cudaMemcpy(in, host.data(), n * sizeof *in, cudaMemcpyHostToDevice);
    scan<<<tiles, kThreads>>>(in, out, n, ticket, status);
    if (auto error = cudaDeviceSynchronize(); error != cudaSuccess) {
        std::printf("FAILED: %s\n", cudaGetErrorString(error));
        return 1;
    }
    cudaMemcpy(result.data(), out, n * sizeof *out, cudaMemcpyDeviceToHost);
    unsigned sum = 0, wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += result[i] != (sum += host[i]);
    std::printf(wrong ? "FAILED\n" : "PASSED\n");
    return wrong != 0;
}
