/* Lanewise for C: runs AMD GCN kernels on x86. A thin layer over lanewise.hpp, whose comments say more.
 *
 *   lanewise_device* device = lanewise_device_create(NULL);
 *   lanewise_module* module = lanewise_module_load_file(device, "saxpy.co", NULL);
 *   lanewise_kernel* kernel = lanewise_module_kernel(module, "saxpy");
 *   const uint32_t grid[3] = {n, 1, 1}, block[3] = {256, 1, 1};
 *   lanewise_argument arguments[] = {{LANEWISE_POINTER, x, 0}, {LANEWISE_POINTER, y, 0}, {LANEWISE_VALUE, &a,
 * sizeof a}}; if (lanewise_kernel_launch(kernel, grid, block, arguments, 3, NULL) != LANEWISE_SUCCESS)
 *     fprintf(stderr, "%s\n", lanewise_error_message());
 *
 * Functions that make an object return NULL on failure. lanewise_error_*() describe the last failure on the
 * calling thread. Objects may be freed in any order: each keeps alive what it needs. */
#ifndef LANEWISE_LANEWISE_H
#define LANEWISE_LANEWISE_H

#include <stddef.h>
#include <stdint.h>

#define LANEWISE_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lanewise_device lanewise_device;
typedef struct lanewise_module lanewise_module;
typedef struct lanewise_kernel lanewise_kernel;
typedef struct lanewise_image lanewise_image;
typedef struct lanewise_sampler lanewise_sampler;
typedef struct lanewise_texture lanewise_texture;

/** What kind of failure. */
typedef enum lanewise_status {
  LANEWISE_SUCCESS = 0,
  LANEWISE_USAGE = 1,       /**< the caller asked for something that makes no sense */
  LANEWISE_BAD_INPUT = 2,   /**< a file is malformed */
  LANEWISE_NOT_FOUND = 3,   /**< a named kernel or target does not exist */
  LANEWISE_UNSUPPORTED = 4, /**< well-formed, but not implemented */
  LANEWISE_FAULT = 5,       /**< the kernel faulted */
  LANEWISE_INTERNAL = 6     /**< a bug in Lanewise, caught */
} lanewise_status;

typedef enum lanewise_engine {
  LANEWISE_ENGINE_AUTO = 0, /**< recompile, except for small launches that are over sooner if interpreted */
  LANEWISE_JIT = 1,
  LANEWISE_INTERP = 2
} lanewise_engine;
typedef enum lanewise_simd { LANEWISE_SIMD_AUTO = 0, LANEWISE_AVX512 = 1, LANEWISE_AVX2 = 2 } lanewise_simd;

/** All zero is the default: recompile what pays, the best vector instructions, all threads, interpret what
 * cannot be recompiled. */
typedef struct lanewise_device_options {
  lanewise_engine engine;
  lanewise_simd simd;
  unsigned threads; /**< at most; 0: all that the process may use */
  int no_fallback;
  int no_specialize; /**< not 0: recompile once for all launches, not for each shape and steady arguments */
  int disk_cache;    /**< not 0: keep translations on disk, for other processes and later ones */
  const char* cache_folder; /**< NULL: $LANEWISE_CACHE_DIR, $XDG_CACHE_HOME/lanewise or ~/.cache/lanewise */
} lanewise_device_options;

typedef enum lanewise_argument_kind {
  LANEWISE_VALUE = 0,   /**< `size` bytes at `data`, passed by copy */
  LANEWISE_POINTER = 1, /**< the host pointer `data` itself */
  LANEWISE_LDS =
      2, /**< a local pointer to `size` bytes of LDS; behind the kernel's own arguments dynamic LDS */
  LANEWISE_IMAGE = 3,   /**< OpenCL's image: `data` is a lanewise_image; as with pointers, it is not kept */
  LANEWISE_SAMPLER = 4, /**< OpenCL's sampler: a lanewise_sampler */
  LANEWISE_TEXTURE = 5, /**< HIP's texture object: a lanewise_texture */
  LANEWISE_SURFACE = 6  /**< HIP's surface object: a lanewise_image */
} lanewise_argument_kind;

typedef struct lanewise_argument {
  lanewise_argument_kind kind;
  const void* data;
  size_t size;
} lanewise_argument;

/** abi/image_format.hpp's enumerations say what is what. */
typedef enum lanewise_geometry {
  LANEWISE_1D = 0,
  LANEWISE_1D_BUFFER = 1,
  LANEWISE_1D_ARRAY = 2,
  LANEWISE_2D = 3,
  LANEWISE_2D_ARRAY = 4,
  LANEWISE_3D = 5
} lanewise_geometry;

typedef enum lanewise_channel_order {
  LANEWISE_A = 0,
  LANEWISE_R = 1,
  LANEWISE_RG = 3,
  LANEWISE_RA = 5,
  LANEWISE_RGB = 6,
  LANEWISE_RGBA = 8,
  LANEWISE_BGRA = 9,
  LANEWISE_ARGB = 10,
  LANEWISE_ABGR = 11,
  LANEWISE_INTENSITY = 16,
  LANEWISE_LUMINANCE = 17,
  LANEWISE_DEPTH = 18
} lanewise_channel_order;

typedef enum lanewise_channel_type {
  LANEWISE_SNORM8 = 0,
  LANEWISE_SNORM16 = 1,
  LANEWISE_UNORM8 = 2,
  LANEWISE_UNORM16 = 3,
  LANEWISE_UNORM555 = 5,
  LANEWISE_UNORM565 = 6,
  LANEWISE_UNORM101010 = 7,
  LANEWISE_INT8 = 8,
  LANEWISE_INT16 = 9,
  LANEWISE_INT32 = 10,
  LANEWISE_UINT8 = 11,
  LANEWISE_UINT16 = 12,
  LANEWISE_UINT32 = 13,
  LANEWISE_HALF = 14,
  LANEWISE_FLOAT = 15
} lanewise_channel_type;

/** Extents that the geometry does not have are 1; so is 0. */
typedef struct lanewise_image_description {
  lanewise_geometry geometry;
  uint32_t width, height, depth, layers;
  lanewise_channel_order order;
  lanewise_channel_type type;
} lanewise_image_description;

typedef enum lanewise_addressing {
  LANEWISE_ADDRESS_NONE = 0,
  LANEWISE_ADDRESS_EDGE = 1,
  LANEWISE_ADDRESS_BORDER = 2,
  LANEWISE_ADDRESS_REPEAT = 3,
  LANEWISE_ADDRESS_MIRROR = 4
} lanewise_addressing;

typedef struct lanewise_sampler_description {
  int normalized; /**< not 0: coordinates from 0 to 1, not in texels */
  int linear;     /**< not 0: mixes the nearest texels by their distance */
  lanewise_addressing addressing;
} lanewise_sampler_description;

/** What a launch took, in milliseconds. */
typedef struct lanewise_times {
  double wall_ms; /**< of the run itself, without translation */
  double cpu_ms;  /**< CPU time of all threads that ran it */
} lanewise_times;

/** The last failure on this thread; the message is one line and valid until the next call. */
LANEWISE_C_API lanewise_status lanewise_error_status(void);
LANEWISE_C_API const char* lanewise_error_message(void);

/** `options` may be NULL. */
LANEWISE_C_API lanewise_device* lanewise_device_create(const lanewise_device_options* options);
LANEWISE_C_API void lanewise_device_free(lanewise_device* device);

/** Loads a code object, offload bundle, fat binary or shared object of translated kernels. `target`
 * ("gfx906") chooses in a bundle; NULL takes the first. */
LANEWISE_C_API lanewise_module* lanewise_module_load_file(lanewise_device* device, const char* path,
                                                          const char* target);
LANEWISE_C_API lanewise_module* lanewise_module_load(lanewise_device* device, const void* bytes, size_t size,
                                                     const char* target);
LANEWISE_C_API void lanewise_module_free(lanewise_module* module);

/** Kernels by index, in the code object's order; NULL past the last. The name lives as long as the module. */
LANEWISE_C_API size_t lanewise_module_kernel_count(const lanewise_module* module);
LANEWISE_C_API const char* lanewise_module_kernel_name(const lanewise_module* module, size_t index);

LANEWISE_C_API lanewise_kernel* lanewise_module_kernel(lanewise_module* module, const char* name);
/** The memory of a variable, to be read and written between launches; it lives as long as the module. */
LANEWISE_C_API void* lanewise_module_variable(lanewise_module* module, const char* name, size_t* size);

/** Zeroed texels that kernels of any target reach as an image. */
LANEWISE_C_API lanewise_image* lanewise_image_create(const lanewise_image_description* description);
LANEWISE_C_API void lanewise_image_free(lanewise_image* image);
/** All rows of all slices or layers without gaps: `size` must be theirs. */
LANEWISE_C_API lanewise_status lanewise_image_write(lanewise_image* image, const void* texels, size_t size);
LANEWISE_C_API lanewise_status lanewise_image_read(const lanewise_image* image, void* texels, size_t size);
/** The texels themselves: rows are `pitch` bytes apart, which may be NULL. They live as long as the image. */
LANEWISE_C_API void* lanewise_image_texels(lanewise_image* image, size_t* pitch);

LANEWISE_C_API lanewise_sampler* lanewise_sampler_create(const lanewise_sampler_description* description);
LANEWISE_C_API void lanewise_sampler_free(lanewise_sampler* sampler);

/** An image seen through a sampler. Keeps the image's texels. */
LANEWISE_C_API lanewise_texture* lanewise_texture_create(const lanewise_image* image,
                                                         const lanewise_sampler_description* sampler);
LANEWISE_C_API void lanewise_texture_free(lanewise_texture* texture);

LANEWISE_C_API void lanewise_kernel_free(lanewise_kernel* kernel);

/** Translates the kernel now rather than at its first launch: for launches with this block and a grid of
   about this size, or, if both are NULL, in the version that serves all launches. */
LANEWISE_C_API lanewise_status lanewise_kernel_prepare(lanewise_kernel* kernel, const uint32_t grid[3],
                                                       const uint32_t block[3]);

/** Runs the grid (work-items per dimension) and waits. `times` may be NULL. */
LANEWISE_C_API lanewise_status lanewise_kernel_launch(lanewise_kernel* kernel, const uint32_t grid[3],
                                                      const uint32_t block[3],
                                                      const lanewise_argument* arguments,
                                                      size_t argument_count, lanewise_times* times);

#ifdef __cplusplus
}
#endif
#endif
