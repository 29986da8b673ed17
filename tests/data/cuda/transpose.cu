// Matrix transposition by tiles of shared memory, with a column more against bank conflicts.
#include <cstdio>
#include <vector>

constexpr int TILE = 32;
constexpr int ROWS = 8;

template <typename T> __global__ void transpose(T *out, const T *in, int width, int height) // expect-opencl: language/templates
{
    __shared__ T tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main()
{
    const int width = 200, height = 333;
    std::vector<float> in(width * height), out(width * height);
    for (int i = 0; i < width * height; ++i)
        in[i] = i * 0.5f;
    float *a, *b;
    cudaMalloc(&a, in.size() * sizeof(float));
    cudaMalloc(&b, in.size() * sizeof(float));
    cudaMemcpy(a, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(TILE, ROWS), grid((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
    transpose<float><<<grid, block>>>(b, a, width, height);
    cudaMemcpy(out.data(), b, in.size() * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            wrong += out[x * height + y] != in[y * width + x];
    printf(wrong ? "FAILED\n" : "PASSED\n");
    cudaFree(a);
    cudaFree(b);
    return wrong != 0;
}
