// Direct-summation gravity as plain programs in CUDA and HIP have it, written by hand: the final
// kernels of the paper named in nbody_paper.json, which portmp's rendered ones are compared with.
// One target a thread, ILP sources side by side (its Listing 3, repeated by a macro). MI100's reads
// sources from global memory and takes the rounded root; A100's has two tiles that a block shares,
// one filled while the other is read. Both compilers take this text, for both kernels.
#define ILP 4
#define INTERACT(bodies, ROOT) \
    { \
        float dx[ILP], dy[ILP], dz[ILP], strength[ILP]; \
        _Pragma("unroll") for (int e = 0; e < ILP; ++e) { \
            const float4 body = (bodies)[e]; \
            dx[e] = body.x - mine.x; \
            dy[e] = body.y - mine.y; \
            dz[e] = body.z - mine.z; \
            const float r2 = fmaf(dz[e], dz[e], fmaf(dy[e], dy[e], fmaf(dx[e], dx[e], eps2))); \
            const float inverse = ROOT(r2); \
            strength[e] = inverse * inverse * inverse * body.w; \
        } \
        _Pragma("unroll") for (int e = 0; e < ILP; ++e) { \
            ax = fmaf(strength[e], dx[e], ax); \
            ay = fmaf(strength[e], dy[e], ay); \
            az = fmaf(strength[e], dz[e], az); \
        } \
    }

// A body without mass, where the target is, exerts no force.
__device__ float4 source(const float4 *bodies, const long long at, const long long count, float4 mine)
{
    mine.w = 0.0f;
    return at < count ? bodies[at] : mine;
}

extern "C" __global__ void __launch_bounds__(256) plain_MI100(
    const long long count, const float4 *bodies, const float eps2, float *out)
{
    const long long me = (long long)blockIdx.x * 256 + threadIdx.x, whole = count - count % ILP;
    const float4 mine = bodies[me < count ? me : count - 1];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;

    for (long long j = 0; j < whole; j += ILP)
        INTERACT(bodies + j, __frsqrt_rn)
    if (whole < count) {
        float4 rest[ILP];
        for (int e = 0; e < ILP; ++e)
            rest[e] = source(bodies, whole + e, count, mine);
        INTERACT(rest, __frsqrt_rn)
    }
    if (me < count) {
        out[3 * me] = ax;
        out[3 * me + 1] = ay;
        out[3 * me + 2] = az;
    }
}

extern "C" __global__ void __launch_bounds__(1024) plain_A100(
    const long long count, const float4 *bodies, const float eps2, float *out)
{
    __shared__ float4 tiles[2][1024];
    const long long me = (long long)blockIdx.x * 1024 + threadIdx.x;
    const float4 mine = bodies[me < count ? me : count - 1];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    int now = 0;

    tiles[0][threadIdx.x] = source(bodies, threadIdx.x, count, mine);
    __syncthreads();
    for (long long base = 0; base < count; base += 1024) {
        const float4 next = source(bodies, base + 1024 + threadIdx.x, count, mine);
        for (int j = 0; j < 1024; j += ILP)
            INTERACT(&tiles[now][j], rsqrtf)
        now = 1 - now;
        tiles[now][threadIdx.x] = next;
        __syncthreads();
    }
    if (me < count) {
        out[3 * me] = ax;
        out[3 * me + 1] = ay;
        out[3 * me + 2] = az;
    }
}
