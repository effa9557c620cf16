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
      2 /**< a local pointer to `size` bytes of LDS; behind the kernel's own arguments dynamic LDS */
} lanewise_argument_kind;

typedef struct lanewise_argument {
  lanewise_argument_kind kind;
  const void* data;
  size_t size;
} lanewise_argument;

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
