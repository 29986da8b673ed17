// The fastest form on MI100: no shared memory, __frsqrt_rn, four interactions side by side.
#include "common.cuh"

__global__ void __launch_bounds__(256) calc_acc(
    const position *ipos, acceleration *iacc, const int Nj, const position *jpos, const float eps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    position pi = ipos[i];
    pi.w = eps * eps;
    acceleration a = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int j = 0; j < Nj; j += 4) {
        float dx[4], dy[4], dz[4], strength[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const position pj = jpos[j + k];
            dx[k] = pj.x - pi.x;
            dy[k] = pj.y - pi.y;
            dz[k] = pj.z - pi.z;
            const float r2 = fmaf(dz[k], dz[k], fmaf(dy[k], dy[k], fmaf(dx[k], dx[k], pi.w)));
            const float inverse = __frsqrt_rn(r2);
            strength[k] = inverse * (inverse * inverse) * pj.w;
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            a.x = fmaf(dx[k], strength[k], a.x);
            a.y = fmaf(dy[k], strength[k], a.y);
            a.z = fmaf(dz[k], strength[k], a.z);
        }
    }
    iacc[i] = a;
}

int main() { return run(calc_acc, 256); }
