// Direct sum of gravity: one target a thread, sources straight from device memory, 1 / sqrtf.
#include "common.cuh"

__global__ void __launch_bounds__(256) calc_acc(
    const position *ipos, acceleration *iacc, const int Nj, const position *jpos, const float eps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    position pi = ipos[i];
    pi.w = eps * eps;
    acceleration a = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int j = 0; j < Nj; ++j) {
        const position pj = jpos[j];
        const float dx = pj.x - pi.x, dy = pj.y - pi.y, dz = pj.z - pi.z;
        const float r2 = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, pi.w)));
        const float inverse = 1.0f / sqrtf(r2);
        const float strength = inverse * (inverse * inverse) * pj.w;
        a.x = fmaf(dx, strength, a.x);
        a.y = fmaf(dy, strength, a.y);
        a.z = fmaf(dz, strength, a.z);
    }
    iacc[i] = a;
}

int main() { return run(calc_acc, 256); }
