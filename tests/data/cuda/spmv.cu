// A sparse matrix in rows times a vector: a warp a row, or 2 to 32 threads a row by template.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define MASK 0xffffffff

template <class T> __device__ T warp_reduce(T x) // expect-opencl: language/templates
{
    for (int d = warpSize / 2; d > 0; d >>= 1)
        x += __shfl_down_sync(MASK, x, d); // expect: warps/mask-32-bits
    return x;
}

__global__ void csr_scalar(int rows, const int *start, const int *column, const float *value,
                           const float *x, float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0;
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += value[i] * x[column[i]];
        y[row] = sum * 1.0; // expect: language/literals
    }
}

__global__ void csr_warp(int rows, const int *start, const int *column, const float *value,
                         const float *x, float *y)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = thread / 32, lane = thread & 31; // expect: warps/hard-coded-32
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32) // expect: warps/hard-coded-32
        sum += value[i] * __ldg(x + column[i]);
    sum = warp_reduce(sum);
    if (lane == 0)
        y[row] = sum;
}

template <int WIDTH> // expect-opencl: language/templates
__global__ void csr_vector(int rows, const int *start, const int *column, const float *value,
                           const float *x, float *y)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / WIDTH, lane = threadIdx.x % WIDTH;
    float sum = 0;
    if (row < rows)
        for (int i = start[row] + lane; i < start[row + 1]; i += WIDTH)
            sum += value[i] * x[column[i]];
#pragma unroll
    for (int d = WIDTH / 2; d > 0; d /= 2)
        sum += __shfl_down_sync(MASK, sum, d, WIDTH); // expect: warps/mask-32-bits
    if (lane == 0 && row < rows)
        y[row] = sum;
}

__global__ void csr_shared(int rows, const int *start, const int *column, const float *value,
                           const float *x, float *y)
{
    __shared__ volatile float part[128 + 16];
    const int lane = threadIdx.x & 31, row = blockIdx.x * 4 + threadIdx.x / 32;
    float sum = 0;
    if (row < rows)
        for (int i = start[row] + lane; i < start[row + 1]; i += 32)
            sum += value[i] * x[column[i]];
    part[threadIdx.x] = sum;
    part[threadIdx.x] = sum += part[threadIdx.x + 16]; // expect-opencl: synchronisation/volatile-warp
    part[threadIdx.x] = sum += part[threadIdx.x + 8];
    part[threadIdx.x] = sum += part[threadIdx.x + 4];
    part[threadIdx.x] = sum += part[threadIdx.x + 2];
    part[threadIdx.x] = sum += part[threadIdx.x + 1];
    if (lane == 0 && row < rows)
        y[row] = sum;
}

template <typename F> int check(const char *name, F launch, const std::vector<float> &right, float *y)
{
    std::vector<float> found(right.size());
    cudaMemset(y, 0xff, found.size() * sizeof(float));
    launch();
    cudaMemcpy(found.data(), y, found.size() * sizeof(float), cudaMemcpyDeviceToHost);
    const int wrong = found != right;
    printf("%-12s %s, %s\n", name, wrong ? "wrong" : "right", cudaGetErrorString(cudaGetLastError()));
    return wrong;
}

int main()
{
    const int rows = 1000;
    std::vector<int> start(1, 0), column;
    std::vector<float> value, x(rows), y(rows, 0.f);
    for (int i = 0; i < rows; ++i)
        x[i] = i % 17 - 8;
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < i * 7 % 90; ++j) {
            column.push_back((i + j * j) % rows);
            value.push_back(j % 5 - 2);
            y[i] += value.back() * x[column.back()];
        }
        start.push_back(column.size());
    }
    int *ds, *dc;
    float *dv, *dx, *dy;
    cudaMalloc(&ds, start.size() * sizeof(int));
    cudaMalloc(&dc, column.size() * sizeof(int));
    cudaMalloc(&dv, value.size() * sizeof(float));
    cudaMalloc(&dx, rows * sizeof(float));
    cudaMalloc(&dy, rows * sizeof(float));
    cudaMemcpy(ds, start.data(), start.size() * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(dc, column.data(), column.size() * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(dv, value.data(), value.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dx, x.data(), rows * sizeof(float), cudaMemcpyHostToDevice);
    int wrong = check("scalar", [=] { csr_scalar<<<8, 128>>>(rows, ds, dc, dv, dx, dy); }, y, dy);
    wrong += check("warp", [=] { csr_warp<<<250, 128>>>(rows, ds, dc, dv, dx, dy); }, y, dy);
    wrong += check("vector<4>", [=] { csr_vector<4><<<32, 128>>>(rows, ds, dc, dv, dx, dy); }, y, dy);
    wrong += check("vector<16>", [=] { csr_vector<16><<<125, 128>>>(rows, ds, dc, dv, dx, dy); }, y, dy);
    printf(wrong ? "FAILED\n" : "PASSED\n");
    return wrong;
}
