// Direct-summation gravity as a plain CUDA program has it: what portmp's rendered kernel is
// compared with. One target a thread, sources as float4 through a tile that a block shares,
// rsqrtf. The algorithm is that of Listing 3 of the paper named in nbody_paper.json. The number
// of threads, THREADS, is defined before this text.
extern "C" __global__ void __launch_bounds__(THREADS) plain_gravity(
    const long long count, const float4 *bodies, const float eps2, float *out)
{
    __shared__ float4 tile[THREADS];
    const long long me = (long long)blockIdx.x * THREADS + threadIdx.x;
    const float4 mine = bodies[me < count ? me : count - 1];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;

    for (long long base = 0; base < count; base += THREADS) {
        const long long fetched = base + threadIdx.x;
        __syncthreads();
        // a body without mass, where it is, exerts no force
        float4 other = mine;
        other.w = 0.0f;
        if (fetched < count)
            other = bodies[fetched];
        tile[threadIdx.x] = other;
        __syncthreads();
        #pragma unroll 8
        for (int j = 0; j < THREADS; ++j) {
            const float4 body = tile[j];
            const float dx = body.x - mine.x, dy = body.y - mine.y, dz = body.z - mine.z;
            const float r2 = fmaf(dz, dz, fmaf(dy, dy, fmaf(dx, dx, eps2)));
            const float inverse = rsqrtf(r2);
            const float strength = inverse * inverse * inverse * body.w;
            ax = fmaf(strength, dx, ax);
            ay = fmaf(strength, dy, ay);
            az = fmaf(strength, dz, az);
        }
    }
    if (me < count) {
        out[3 * me] = ax;
        out[3 * me + 1] = ay;
        out[3 * me + 2] = az;
    }
}
