// A product of matrices on tensor cores, and one with asynchronous copies.
#include <cuda_fp16.h>
#include <cuda/barrier> // expect: synchronisation/cuda-atomic
#include <cuda/pipeline> // expect: memory/async-copy
#include <mma.h> // expect: arithmetic/tensor-cores
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h> // expect: warps/cooperative-groups
#include <cstdio>
using namespace nvcuda; // expect: arithmetic/tensor-cores
namespace cg = cooperative_groups;
const int M = 16, N = 16, K = 16;
__global__ void product(const half *a, const half *b, float *c, int m, int n, int k)
{
    int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize, warpN = blockIdx.y * blockDim.y + threadIdx.y;
    wmma::fragment<wmma::matrix_a, M, N, K, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, M, N, K, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int i = 0; i < k; i += K) {
        wmma::load_matrix_sync(fa, a + warpM * M * k + i, k);
        wmma::load_matrix_sync(fb, b + warpN * N * k + i, k);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(c + warpM * M * n + warpN * N, acc, n, wmma::mem_row_major);
}
__global__ void staged(const float *in, float *out, int n)
{
    extern __shared__ float tile[];
    auto block = cg::this_thread_block();
    __shared__ cuda::barrier<cuda::thread_scope_block> bar; // expect: synchronisation/cuda-atomic
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(block, tile, in + blockIdx.x * block.size(), sizeof(float) * block.size(), bar); // expect: memory/async-copy
    bar.arrive_and_wait();
    out[blockIdx.x * block.size() + block.thread_rank()] = tile[block.thread_rank()] * 2;
    cg::memcpy_async(block, tile, in, sizeof(float) * block.size()); // expect: memory/async-copy
    cg::wait(block); // expect: memory/async-copy
}
int main()
{
    half *a, *b; float *c;
    cudaMalloc(&a, 1 << 20); cudaMalloc(&b, 1 << 20); cudaMalloc(&c, 1 << 20);
    product<<<dim3(4, 4), dim3(128, 4)>>>(a, b, c, 256, 256, 256);
    cudaFuncSetAttribute(staged, cudaFuncAttributeMaxDynamicSharedMemorySize, 98304); // expect: launch/shared-opt-in, memory/shared-limit
    staged<<<64, 256, 256 * sizeof(float)>>>(c, c, 16384);
    printf("%d\n", cudaDeviceSynchronize() == cudaSuccess);
}
