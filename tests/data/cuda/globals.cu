// Constant tables, device globals, function pointers on the device, raw strings, structured bindings.
#include <array>
#include <cstdio>
#include <cuda_runtime.h>
#include <string_view>
#include <utility>
namespace {
constexpr std::string_view help = R"(usage: globals [n]
   n  how many __syncwarp() nobody calls, cudaMalloc3DArray(x, y, z)
)";
struct alignas(16) Params { float gain, bias; int shift; int pad; };
__constant__ Params params[4];
__constant__ float weights[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
__device__ int counters[2];
__device__ __managed__ unsigned long long total;
typedef float (*Function)(float);
__device__ float twice(float x) { return x * 2; }
__device__ float cube(float x) { return powf(x, 3.0); }
__device__ Function table[2] = {twice, cube};
std::pair<dim3, dim3> shape(int n) { return {dim3((n + 255) / 256), dim3(256)}; }
}
__global__ void apply(const float *x, float *y, int n, int which)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Params &p = params[which & 3];
    float v = table[which & 1](x[i]) * p.gain + p.bias;
    v += weights[which % 3][1] * __int_as_float(__float_as_int(v) << p.shift);
    y[i] = v;
    if (v > 0) atomicAdd(&counters[0], 1); else atomicAdd_block(&counters[1], 1); // expect: atomics/scopes
    atomicAdd_system(&total, 1ull);
}
int main(int argc, char **)
{
    if (argc > 2) std::printf("%s", help.data());
    int n = 1000;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
    std::array<Params, 4> host{};
    for (auto &[gain, bias, shift, pad] : host) gain = 2, bias = 1, shift = 0, pad = 0;
    cudaMemcpyToSymbol(params, host.data(), sizeof host);
    cudaMemcpyToSymbolAsync(weights, host.data(), 36, 0, cudaMemcpyHostToDevice, 0);
    auto [grid, block] = shape(n);
    apply<<<grid, block>>>(x, y, n, 1);
    int back[2];
    cudaMemcpyFromSymbol(back, counters, sizeof back);
    int *where;
    cudaGetSymbolAddress((void **)&where, counters);
    cudaFuncAttributes about;
    cudaFuncGetAttributes(&about, apply); // expect: launch/shared-opt-in
    std::printf("%d %d %d %llu\n", back[0], back[1], about.numRegs, total);
}
