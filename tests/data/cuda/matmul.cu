// Single-precision matrix product: three kernels, from the plain one to register blocking, beside
// cuBLAS where it is asked for (-DUSE_CUBLAS -lcublas).
#include <chrono>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <cuda_runtime.h>
#ifdef USE_CUBLAS
#include <cublas_v2.h>
#endif

inline void check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
#define CHECK(x) check((x), #x)

struct DeviceDeleter {
    void operator()(float *p) const { cudaFree(p); }
};
using DeviceArray = std::unique_ptr<float, DeviceDeleter>;

DeviceArray allocate(size_t n)
{
    float *p;
    CHECK(cudaMalloc((void **)&p, n * sizeof(float)));
    return DeviceArray(p);
}

__global__ void naive(const float *A, const float *B, float *C, int n)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
        sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}

template <int TILE> // expect-opencl: language/templates
__global__ void tiled(const float *A, const float *B, float *C, int n)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < (n + TILE - 1) / TILE; ++t) {
        As[ty][tx] = row < n && t * TILE + tx < n ? A[row * n + t * TILE + tx] : 0.0f;
        Bs[ty][tx] = col < n && t * TILE + ty < n ? B[(t * TILE + ty) * n + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k)
            sum = fmaf(As[ty][k], Bs[k][tx], sum);
        __syncthreads();
    }
    if (row < n && col < n)
        C[row * n + col] = sum;
}

constexpr int BM = 64, BN = 64, BK = 8, TM = 4;

__global__ __launch_bounds__(BM *BN / (TM * TM), 2) // expect: launch/launch-bounds-second
void blocked(const float *__restrict__ A, const float *__restrict__ B, float *C, int n)
{
    __shared__ __align__(16) float As[BK][BM];
    __shared__ __align__(16) float Bs[BK][BN];
    float acc[TM][TM] = {};
    const int tid = threadIdx.x, tx = tid % (BN / TM), ty = tid / (BN / TM);
    for (int k0 = 0; k0 < n; k0 += BK) {
        for (int i = tid; i < BM * BK; i += blockDim.x) {
            As[i % BK][i / BK] = A[(blockIdx.y * BM + i / BK) * n + k0 + i % BK];
            Bs[i / BN][i % BN] = B[(k0 + i / BN) * n + blockIdx.x * BN + i % BN];
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 a = *reinterpret_cast<const float4 *>(&As[k][ty * TM]);
            const float4 b = *reinterpret_cast<const float4 *>(&Bs[k][tx * TM]);
            const float av[TM] = {a.x, a.y, a.z, a.w}, bv[TM] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TM; ++j)
                    acc[i][j] += av[i] * bv[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TM; ++j)
            C[(blockIdx.y * BM + ty * TM + i) * n + blockIdx.x * BN + tx * TM + j] = acc[i][j];
}

template <typename Launch> double milliseconds(Launch launch)
{
    launch();
    CHECK(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    launch();
    CHECK(cudaDeviceSynchronize());
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
}

int main(int argc, char *argv[])
try {
    const int n = argc > 1 ? std::stoi(argv[1]) : 256;
    std::mt19937 random(1);
    std::uniform_int_distribution<int> digits(-8, 8); // so that every order of sums is exact
    std::unique_ptr<float[]> a(new float[n * n]), b(new float[n * n]), c(new float[n * n]);
    for (int i = 0; i < n * n; ++i)
        a[i] = digits(random), b[i] = digits(random);
    auto A = allocate(n * n), B = allocate(n * n), C = allocate(n * n);
    CHECK(cudaMemcpy(A.get(), a.get(), n * n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(B.get(), b.get(), n * n * sizeof(float), cudaMemcpyHostToDevice));
    bool right = true;
    auto verify = [&](const char *name, double ms) {
        CHECK(cudaMemcpy(c.get(), C.get(), n * n * sizeof(float), cudaMemcpyDeviceToHost));
        for (int row = 0; row < n; row += 7)
            for (int col = 0; col < n; col += 5) {
                double sum = 0;
                for (int k = 0; k < n; ++k)
                    sum += double(a[row * n + k]) * b[k * n + col];
                right = right && sum == c[row * n + col];
            }
        std::cout << name << ": " << 2e-6 * n * n * n / ms << " GFLOP/s\n";
        CHECK(cudaMemset(C.get(), 0, n * n * sizeof(float)));
    };
    const dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    verify("naive", milliseconds([&] { naive<<<grid, block>>>(A.get(), B.get(), C.get(), n); }));
    verify("tiled", milliseconds([&] { tiled<16><<<grid, block>>>(A.get(), B.get(), C.get(), n); }));
    if (n % 64 == 0)
        verify("blocked", milliseconds([&] {
                   blocked<<<dim3(n / BN, n / BM), BM * BN / (TM * TM)>>>(A.get(), B.get(), C.get(),
                                                                         n);
               }));
#ifdef USE_CUBLAS
    cublasHandle_t handle;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS)
        throw std::runtime_error("cublasCreate");
    const float one = 1.0f, zero = 0.0f;
    verify("cublas", milliseconds([&] {
               cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, B.get(), n, A.get(), n,
                           &zero, C.get(), n);
           }));
    cublasDestroy(handle);
#endif
    std::cout << (right ? "PASSED" : "FAILED") << std::endl;
    return !right;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
