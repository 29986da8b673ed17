// Conjugate gradients in one cooperative launch: the whole grid meets after each step.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
using cg::grid_group;
using cg::thread_block;

__device__ double block_sum(const thread_block &block, double x, double *partial) // expect-opencl: language/references
{
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    for (int offset = tile.size() / 2; offset > 0; offset /= 2)
        x += tile.shfl_down(x, offset);
    if (tile.thread_rank() == 0)
        partial[block.thread_rank() / tile.size()] = x;
    block.sync();
    double sum = 0;
    for (int i = 0; i < block.size() / tile.size(); ++i)
        sum += partial[i];
    block.sync();
    return sum;
}

__device__ void dot(const grid_group &grid, const double *x, const double *y, int n, double *result) // expect-opencl: language/references
{
    extern __shared__ double partial[]; // expect-opencl: memory/shared-static
    double mine = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        mine += x[i] * y[i];
    const thread_block block = cg::this_thread_block();
    const double sum = block_sum(block, mine, partial);
    if (block.thread_rank() == 0)
        atomicAdd(result, sum); // expect: atomics/double-add
}

__global__ void solve(double *x, double *r, double *p, double *q, int n, int steps, double *sums)
{
    const grid_group grid = cg::this_grid();
    const int first = grid.thread_rank(), all = grid.size();
    dot(grid, r, r, n, &sums[0]);
    grid.sync();
    for (int k = 0; k < steps; ++k) {
        for (int i = first; i < n; i += all)
            q[i] = 2.5 * p[i] - (i > 0 ? p[i - 1] : 0.0) - (i + 1 < n ? p[i + 1] : 0.0);
        grid.sync();
        dot(grid, p, q, n, &sums[2 * k + 1]);
        grid.sync();
        const double alpha = sums[2 * k] / sums[2 * k + 1];
        for (int i = first; i < n; i += all) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        grid.sync();
        dot(grid, r, r, n, &sums[2 * k + 2]);
        grid.sync();
        const double beta = sums[2 * k + 2] / sums[2 * k];
        for (int i = first; i < n; i += all)
            p[i] = r[i] + beta * p[i];
        grid.sync();
    }
}

static void check(cudaError_t e)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(e));
        exit(2);
    }
}

int main()
{
    int n = 1 << 14, steps = 40, threads = 256, blocks, units, can, device = 0;
    check(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, device));
    check(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device));
    if (!can)
        return puts("no cooperative launches here"), 0;
    size_t shared = threads / 32 * sizeof(double);
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, solve, threads, shared));
    double *v[4], *sums;
    std::vector<double> host(n, 1.0);
    for (double *&one : v) {
        check(cudaMalloc(&one, n * sizeof(double)));
        check(cudaMemset(one, 0, n * sizeof(double)));
    }
    check(cudaMalloc(&sums, (2 * steps + 1) * sizeof(double)));
    check(cudaMemset(sums, 0, (2 * steps + 1) * sizeof(double)));
    check(cudaMemcpy(v[1], host.data(), n * sizeof(double), cudaMemcpyHostToDevice));
    check(cudaMemcpy(v[2], host.data(), n * sizeof(double), cudaMemcpyHostToDevice));
    void *arguments[] = {&v[0], &v[1], &v[2], &v[3], &n, &steps, &sums};
    check(cudaLaunchCooperativeKernel((void *)solve, blocks * units, threads, arguments, shared, 0));
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(host.data(), v[0], n * sizeof(double), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int i = 0; i < n; ++i) {
        const double left = i > 0 ? host[i - 1] : 0, right = i + 1 < n ? host[i + 1] : 0;
        const double residual = 1.0 - (2.5 * host[i] - left - right);
        worst = residual > worst ? residual : -residual > worst ? -residual : worst;
    }
    printf("largest residual %.3e\n%s\n", worst, worst < 1e-9 ? "PASSED" : "FAILED");
    return worst >= 1e-9;
}
