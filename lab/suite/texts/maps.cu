
typedef CUresult (*heed_encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                                CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static heed_encode heed_find_encode()
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
    TORCH_CHECK(found && result == cudaDriverEntryPointSuccess, "the driver has no maps of tensors");
    return (heed_encode)found;
}

static void heed_map(heed_cuda_map *map, const torch::Tensor &x, unsigned heads, unsigned rows)
{
    static const heed_encode encode = heed_find_encode();
    const cuuint32_t box[] = { 64, heads, rows, 1 }, steps[] = { 1, 1, 1, 1 };
    const cuuint64_t sizes[] = { (cuuint64_t)x.size(3), (cuuint64_t)x.size(1), (cuuint64_t)x.size(2),
                                 (cuuint64_t)x.size(0) };
    cuuint64_t strides[3];
    const int dims[] = { 1, 2, 0 };
    for (int i = 0; i < 3; i++)
        strides[i] = (cuuint64_t)(x.size(dims[i]) > 1 ? x.stride(dims[i]) : 8) * 2;
    const CUresult result =
        encode((CUtensorMap *)map, CU_TENSOR_MAP_DATA_TYPE_@MAP_KIND@, 4, x.data_ptr(), sizes, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    TORCH_CHECK(result == CUDA_SUCCESS, "a tensor cannot be mapped: error ", (int)result);
}
