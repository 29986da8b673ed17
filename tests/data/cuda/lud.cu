// LU in blocks, one kernel calling another's tile; dynamic block memory with two types in it.
#include <cassert>
#include <cstdio>
#include <cuda_runtime.h>
#ifdef RD_WG_SIZE_0
#define BLOCK_SIZE RD_WG_SIZE_0
#else
#define BLOCK_SIZE 16
#endif
__global__ void lud_diagonal(float *m, int dim, int offset)
{
    __shared__ float shadow[BLOCK_SIZE][BLOCK_SIZE];
    int array_offset = offset * dim + offset;
    for (int i = 0; i < BLOCK_SIZE; i++, array_offset += dim)
        shadow[i][threadIdx.x] = m[array_offset + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < BLOCK_SIZE - 1; i++) {
        if (threadIdx.x > i) {
            for (int j = 0; j < i; j++)
                shadow[threadIdx.x][i] -= shadow[threadIdx.x][j] * shadow[j][i];
            shadow[threadIdx.x][i] /= shadow[i][i];
        }
        __syncthreads();
        if (threadIdx.x > i) {
            for (int j = 0; j < i + 1; j++)
                shadow[i + 1][threadIdx.x] -= shadow[i + 1][j] * shadow[j][threadIdx.x];
        }
        __syncthreads();
    }
    array_offset = (offset + 1) * dim + offset;
    for (int i = 1; i < BLOCK_SIZE; i++, array_offset += dim)
        m[array_offset + threadIdx.x] = shadow[i][threadIdx.x];
}
__global__ void lud_internal(float *m, int dim, int offset)
{
    extern __shared__ unsigned char raw[];
    float *row = reinterpret_cast<float *>(raw), *col = row + BLOCK_SIZE * BLOCK_SIZE;
    int global_row = offset + (blockIdx.y + 1) * BLOCK_SIZE;
    int global_col = offset + (blockIdx.x + 1) * BLOCK_SIZE;
    row[threadIdx.y * BLOCK_SIZE + threadIdx.x] = m[(offset + threadIdx.y) * dim + global_col + threadIdx.x];
    col[threadIdx.y * BLOCK_SIZE + threadIdx.x] = m[(global_row + threadIdx.y) * dim + offset + threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < BLOCK_SIZE; i++)
        sum = __fmaf_rn(col[threadIdx.y * BLOCK_SIZE + i], row[i * BLOCK_SIZE + threadIdx.x], sum);
    assert(isfinite(sum));
    m[(global_row + threadIdx.y) * dim + global_col + threadIdx.x] -= sum;
}
void lud(float *m, int dim)
{
    int i = 0;
    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    for (i = 0; i < dim - BLOCK_SIZE; i += BLOCK_SIZE) {
        lud_diagonal<<<1, BLOCK_SIZE>>>(m, dim, i); // expect: warps/half-empty-waves
        dim3 dimGrid((dim - i) / BLOCK_SIZE - 1, (dim - i) / BLOCK_SIZE - 1);
        lud_internal<<<dimGrid, dimBlock, 2 * BLOCK_SIZE * BLOCK_SIZE * sizeof(float)>>>(m, dim, i);
    }
    lud_diagonal<<<1, BLOCK_SIZE>>>(m, dim, i); // expect: warps/half-empty-waves
}
int main()
{
    const int n = 256;
    float *m;
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreateWithFlags(&stop, cudaEventBlockingSync);
    if (cudaMallocManaged((void **)&m, n * n * sizeof(float), cudaMemAttachGlobal) != cudaSuccess) return 1; // expect: host/managed
    for (int i = 0; i < n * n; i++) m[i] = i % (n + 1) ? 0.01f * (i % 7) : 10.f;
    cudaEventRecord(start, 0);
    lud(m, n);
    cudaEventRecord(stop, 0);
    cudaEventSynchronize(stop);
    float ms;
    cudaEventElapsedTime(&ms, start, stop);
    printf("%g %g ms\n", m[n * n - 1], ms);
}
