// Option prices by Monte Carlo: cuRAND on the device and on the host, sums of a block by CUB.
#include <cmath>
#include <cstdio>
#include <cub/cub.cuh>
#include <cuda_runtime.h>
#include <curand.h>
#include <curand_kernel.h>

#ifndef THREADS
#define THREADS 128
#endif

struct Option {
    float spot, strike, rate, volatility, years;
};

__global__ void initialise(curandState *states, unsigned long long seed)
{
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, id, 0, &states[id]); // expect: libraries/random
}

__device__ __noinline__ float payoff(const Option &o, float normal) // expect-opencl: language/references
{
    const float drift = (o.rate - 0.5f * o.volatility * o.volatility) * o.years;
    const float end = o.spot * __expf(drift + o.volatility * sqrtf(o.years) * normal); // expect: mathematics/fast-intrinsics
    return fmaxf(end - o.strike, 0.0f);
}

__global__ void __launch_bounds__(THREADS)
simulate(const Option option, curandState *states, int paths, double *sum)
{
    typedef cub::BlockReduce<double, THREADS> Reduce;
    __shared__ typename Reduce::TempStorage storage;
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    curandState state = states[id];
    double mine = 0;
    for (int i = 0; i < paths; ++i) {
        const float2 z = curand_normal2(&state);
        mine += payoff(option, z.x) + payoff(option, z.y);
    }
    states[id] = state;
    const double total = Reduce(storage).Sum(mine);
    if (threadIdx.x == 0)
        atomicAdd(sum, total); // expect: atomics/double-add
}

template <int N> __global__ void from_host(const Option option, const float *normals, double *sum) // expect-opencl: language/templates
{
    __shared__ double partial[N];
    double mine = 0;
    for (int i = threadIdx.x; i < 1 << 16; i += N)
        mine += payoff(option, normals[i]);
    partial[threadIdx.x] = mine;
    __syncthreads();
    for (int half = N / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *sum = partial[0];
}

static double cumulative(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

int main()
{
    const Option o = {100, 105, 0.03f, 0.2f, 1};
    const int blocks = 64, paths = 256;
    const double d1 = (log(o.spot / o.strike) + (o.rate + 0.5 * o.volatility * o.volatility)) /
                      o.volatility;
    const double exact = o.spot * cumulative(d1) -
                         o.strike * exp(-o.rate) * cumulative(d1 - o.volatility);
    curandState *states;
    double *sum, host = 0;
    float *normals;
    cudaMalloc((void **)&states, blocks * THREADS * sizeof(curandState));
    cudaMalloc((void **)&sum, sizeof(double));
    cudaMalloc((void **)&normals, sizeof(float) << 16);
    cudaMemset(sum, 0, sizeof(double));
    initialise<<<blocks, THREADS>>>(states, 1234ULL);
    simulate<<<blocks, THREADS>>>(o, states, paths, sum);
    cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost);
    const double mean = exp(-o.rate) * host / (2.0 * blocks * THREADS * paths);

    curandGenerator_t generator;
    curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10); // expect: libraries/random
    curandSetPseudoRandomGeneratorSeed(generator, 99);
    curandGenerateNormal(generator, normals, 1 << 16, 0.0f, 1.0f);
    from_host<256><<<1, 256>>>(o, normals, sum);
    cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost);
    curandDestroyGenerator(generator);
    const double other = exp(-o.rate) * host / (1 << 16);
    printf("exact %.4f, %.4f and %.4f by simulation\n", exact, mean, other);
    const bool right = fabs(mean - exact) < 0.05 && fabs(other - exact) < 0.3;
    puts(right ? "PASSED" : "FAILED");
    return !right;
}
