// A picture that is read through a texture object.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void shifted(cudaTextureObject_t picture, float *out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = tex2D<float>(picture, x + 1.5f, y + 0.5f); // expect: memory/texture-object
}

int main()
{
    const int width = 64, height = 32;
    float host[width * height], result[width * height], *out;
    for (int i = 0; i < width * height; ++i)
        host[i] = i;
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &format, width, height);
    cudaMemcpy2DToArray(
        array, 0, 0, host, width * sizeof(float), width * sizeof(float), height,
        cudaMemcpyHostToDevice);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc reading = {};
    reading.addressMode[0] = cudaAddressModeClamp;
    reading.addressMode[1] = cudaAddressModeClamp;
    reading.filterMode = cudaFilterModePoint;
    reading.readMode = cudaReadModeElementType;
    cudaTextureObject_t picture = 0;
    cudaCreateTextureObject(&picture, &resource, &reading, NULL);
    cudaMalloc(&out, sizeof result);
    shifted<<<dim3(4, 4), dim3(16, 8)>>>(picture, out, width, height);
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            wrong += result[y * width + x] != host[y * width + (x + 1 < width ? x + 1 : x)];
    printf(wrong ? "FAILED\n" : "PASSED\n");
    cudaDestroyTextureObject(picture);
    cudaFreeArray(array);
    return wrong != 0;
}
