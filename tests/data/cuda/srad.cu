// Speckle removal: a reduction over blocks and a diffusion, with pitched memory.
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>
typedef float fp;
template <int THREADS> // expect-opencl: language/templates
__global__ void moments(const fp *image, size_t pitch, int w, int h, fp *sums, fp *squares) // expect-opencl: language/kernel-arguments
{
    __shared__ fp a[THREADS], b[THREADS];
    int tx = threadIdx.x;
    fp sum = 0, square = 0;
    for (int i = blockIdx.x * THREADS + tx; i < w * h; i += THREADS * gridDim.x) {
        const fp *row = (const fp *)((const char *)image + (i / w) * pitch);
        fp v = row[i % w];
        sum += v;
        square += v * v;
    }
    a[tx] = sum;
    b[tx] = square;
    __syncthreads();
#pragma unroll
    for (int d = THREADS / 2; d > 32; d >>= 1) {
        if (tx < d) {
            a[tx] += a[tx + d];
            b[tx] += b[tx + d];
        }
        __syncthreads();
    }
    if (tx < 32) {
        volatile fp *va = a;
        va[tx] += va[tx + 32]; // expect-opencl: synchronisation/volatile-warp
        va[tx] += va[tx + 16];
        va[tx] += va[tx + 8];
        va[tx] += va[tx + 4];
        va[tx] += va[tx + 2];
        va[tx] += va[tx + 1];
        volatile fp *vb = b;
        vb[tx] += vb[tx + 32];
        vb[tx] += vb[tx + 16];
        vb[tx] += vb[tx + 8];
        vb[tx] += vb[tx + 4];
        vb[tx] += vb[tx + 2];
        vb[tx] += vb[tx + 1];
    }
    if (tx == 0) {
        sums[blockIdx.x] = a[0];
        squares[blockIdx.x] = b[0];
    }
}
__global__ void diffuse(const fp *image, size_t pitch, fp *out, int w, int h, fp q0, fp lambda) // expect-opencl: language/kernel-arguments
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
#define AT(j, i) (*(const fp *)((const char *)image + (j) * pitch + (i) * sizeof(fp)))
    fp c = AT(y, x);
    fp n = AT(max(y - 1, 0), x) - c, s = AT(min(y + 1, h - 1), x) - c;
    fp west = AT(y, max(x - 1, 0)) - c, e = AT(y, min(x + 1, w - 1)) - c;
    fp g2 = (n * n + s * s + west * west + e * e) / (c * c);
    fp l = (n + s + west + e) / c;
    fp num = 0.5f * g2 - (1.0f / 16.0f) * l * l, den = 1 + 0.25f * l;
    fp q = num / (den * den);
    fp k = __saturatef(1.0f / (1.0f + (q - q0) / (q0 * (1 + q0))));
    out[y * w + x] = c + 0.25f * lambda * k * (n + s + west + e);
}
int main()
{
    const int w = 500, h = 200, blocks = 32;
    fp *image, *sums, *squares, *out, host[blocks * 2], *source = new fp[w * h];
    size_t pitch;
    for (int i = 0; i < w * h; i++) source[i] = expf((i * 7 % 255) / 255.f);
    cudaMallocPitch(&image, &pitch, w * sizeof(fp), h); // expect: host/pointer-to-pointer
    cudaMalloc(&sums, 2 * blocks * sizeof(fp));
    squares = sums + blocks;
    cudaMalloc(&out, w * h * sizeof(fp));
    cudaMemcpy2D(image, pitch, source, w * sizeof(fp), w * sizeof(fp), h, cudaMemcpyHostToDevice);
    for (int i = 0; i < 4; i++) {
        moments<256><<<blocks, 256>>>(image, pitch, w, h, sums, squares);
        cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost);
        fp sum = 0, square = 0;
        for (int k = 0; k < blocks; k++) { sum += host[k]; square += host[blocks + k]; }
        fp mean = sum / (w * h), var = square / (w * h) - mean * mean;
        diffuse<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(image, pitch, out, w, h, var / (mean * mean), 0.5f);
        cudaMemcpy2D(image, pitch, out, w * sizeof(fp), w * sizeof(fp), h, cudaMemcpyDeviceToDevice);
    }
    cudaMemcpy(source, out, w * h * sizeof(fp), cudaMemcpyDeviceToHost);
    printf("%g\n", source[w * h / 2]);
    return cudaFree(image) || cudaFree(out);
}
