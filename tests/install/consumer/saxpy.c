#include <lanewise/lanewise.h>

#include <stdio.h>
#include <string.h>

static int failed(const char* what) {
  printf("%s: %s\n", what, lanewise_error_message());
  return 1;
}

static int use_image(void) {
  const lanewise_image_description description = {
      .geometry = LANEWISE_2D, .width = 3, .height = 2, .order = LANEWISE_R, .type = LANEWISE_UNORM8};
  const lanewise_sampler_description repeated = {.addressing = LANEWISE_ADDRESS_REPEAT};
  unsigned char texels[6] = {1, 2, 3, 4, 5, 6}, read[6];
  size_t pitch = 0;
  lanewise_image* image = lanewise_image_create(&description);
  if (!image) return failed("image");
  if (lanewise_image_write(image, texels, sizeof texels) != LANEWISE_SUCCESS) return failed("write");
  if (((unsigned char*)lanewise_image_texels(image, &pitch))[pitch] != 4) return failed("pitch");
  if (lanewise_image_read(image, read, sizeof read) != LANEWISE_SUCCESS ||
      memcmp(read, texels, sizeof read) != 0)
    return failed("read");
  if (lanewise_image_read(image, read, 5) != LANEWISE_USAGE) return failed("a wrong size must be an error");
  if (lanewise_sampler_create(&repeated)) return failed("texels that are repeated must be an error");
  lanewise_image_free(image);
  return 0;
}

int main(int argc, char** argv) {
  const lanewise_device_options options = {.engine = LANEWISE_INTERP, .threads = 2};
  (void)argc;
  lanewise_device* device = lanewise_device_create(&options);
  if (!device) return failed("device");
  if (lanewise_module_load_file(device, "/nowhere.co", NULL) || lanewise_error_status() != LANEWISE_BAD_INPUT)
    return failed("a file that is not there must be an error");
  lanewise_module* module = lanewise_module_load_file(device, argv[1], NULL);
  if (!module) return failed("module");
  if (lanewise_module_kernel_count(module) != 1 ||
      strcmp(lanewise_module_kernel_name(module, 0), "saxpy") != 0)
    return 1;
  lanewise_kernel* kernel = lanewise_module_kernel(module, "saxpy");
  if (!kernel) return failed("kernel");
  lanewise_device_free(device); /* the kernel keeps what it needs */
  lanewise_module_free(module);

  float x[100], y[100];
  for (int i = 0; i < 100; ++i) x[i] = (float)i, y[i] = 1;
  const unsigned n = 100;
  const float a = 2;
  const lanewise_argument arguments[] = {{LANEWISE_VALUE, &n, sizeof n},
                                         {LANEWISE_VALUE, &a, sizeof a},
                                         {LANEWISE_POINTER, x, 0},
                                         {LANEWISE_POINTER, y, 0}};
  const uint32_t grid[3] = {100, 1, 1}, block[3] = {64, 1, 1};
  lanewise_times times;
  if (lanewise_kernel_launch(kernel, grid, block, arguments, 3, &times) != LANEWISE_USAGE)
    return failed("a missing argument must be an error");
  if (lanewise_kernel_launch(kernel, grid, block, arguments, 4, &times) != LANEWISE_SUCCESS)
    return failed("launch");
  for (int i = 0; i < 100; ++i)
    if (y[i] != 2 * (float)i + 1) return printf("y[%d] = %g\n", i, (double)y[i]), 1;
  lanewise_kernel_free(kernel);
  if (use_image()) return 1;
  printf("saxpy from C: right, %.3f ms\n", times.wall_ms);
  return 0;
}
