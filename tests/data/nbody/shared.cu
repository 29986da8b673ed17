// The same with sources in tiles of shared memory, and rsqrtf.
#include "common.cuh"

#define THREADS 128

__global__ void __launch_bounds__(THREADS) calc_acc(
    const position *ipos, acceleration *iacc, const int Nj, const position *jpos, const float eps)
{
    __shared__ position tile[THREADS];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    position pi = ipos[i];
    pi.w = eps * eps;
    acceleration a = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int first = 0; first < Nj; first += THREADS) {
        __syncthreads();
        tile[threadIdx.x] = jpos[first + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < THREADS; ++j) {
            const position pj = tile[j];
            const float dx = pj.x - pi.x, dy = pj.y - pi.y, dz = pj.z - pi.z;
            const float r2 = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, pi.w)));
            const float inverse = rsqrtf(r2);
            const float strength = inverse * (inverse * inverse) * pj.w;
            a.x = fmaf(dx, strength, a.x);
            a.y = fmaf(dy, strength, a.y);
            a.z = fmaf(dz, strength, a.z);
        }
    }
    iacc[i] = a;
}

int main() { return run(calc_acc, THREADS); }
